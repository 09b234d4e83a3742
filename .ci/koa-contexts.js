// Gives every request of a test run koa's own context, so that the suites can show that the lean one gives the same
// responses.
import { register } from 'node:module';
import { LeanKoa } from '../apiserver/dist/http/response/lean-koa.js';

register('./bundles/without-bundles.js', import.meta.url);

LeanKoa.prototype.contextOf = function contextOf(request, response) {
  return this.koaContextOf(request, response);
};
