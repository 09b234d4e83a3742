// Gives every request of a test run koa's own context instead of the product's lean one. The suites then show that both
// lead to the same responses.
import { LeanKoa } from '../apiserver/dist/http/response/lean-koa.js';

LeanKoa.prototype.contextOf = function contextOf(request, response) {
  return this.koaContextOf(request, response);
};
