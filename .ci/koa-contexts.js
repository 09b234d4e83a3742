// Gives every request of a test run koa's own context instead of the product's lean one. The suites then show that both
// lead to the same responses.
import { register } from 'node:module';
import { LeanKoa } from '../apiserver/dist/http/response/lean-koa.js';

register('./bundles/without-bundles.js', import.meta.url);

LeanKoa.prototype.contextOf = function contextOf(request, response) {
  return this.koaContextOf(request, response);
};
