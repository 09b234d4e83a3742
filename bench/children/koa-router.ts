// The limit for an endpoint: the same route in bare koa with @koa/router.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Router from '@koa/router';
import Koa from 'koa';
import { answerCalls } from '../processes/answer-calls.ts';
import { greetingPattern } from '../load/endpoint-paths.ts';

const app = new Koa();
const router = new Router();
router.get(greetingPattern, (context) => {
  context.body = { hello: context.params['name'] };
});
app.use(router.routes());

answerCalls({
  start: async () => {
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`;
  },
});
