// The limit for HTTP: bare koa that parses a body and sends it back. A GET returns the last body that was sent.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import getRawBody from 'raw-body';
import { answerCalls } from '../processes/answer-calls.ts';

let last: Buffer = Buffer.alloc(0);

const app = new Koa();
app.use(async (context) => {
  context.set('Content-Type', 'application/json');
  if (context.method === 'GET') {
    context.body = last;
    return;
  }
  const text = await getRawBody(context.req, { limit: '3mb', encoding: 'utf8' });
  last = Buffer.from(JSON.stringify(JSON.parse(text)));
  context.status = context.method === 'POST' ? 201 : 200;
  context.body = last;
});

/** The memory that `hold` has filled. No request uses it. */
let held: readonly Buffer[] = [];

const heldTogether = 1024 * 1024;

answerCalls({
  /** Fills this many bytes of memory, rounded up to whole megabytes. Returns the number of megabytes. */
  hold: (bytes: number) => {
    held = Array.from({ length: Math.ceil(bytes / heldTogether) }, () => Buffer.alloc(heldTogether, 1));
    return held.length;
  },
  start: async () => {
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`;
  },
});
