// Gives every request of a test run koa's own context, so that the suites can show that the lean one gives the same
// responses.
import './bundles/without-bundles.js';
import { LeanKoa } from '../apiserver/dist/http/response/lean-koa.js';

LeanKoa.prototype.contextOf = function contextOf(request, response) {
  return this.koaContextOf(request, response);
};
