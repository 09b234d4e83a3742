// The limit for watches with many watchers: a server with node:http only. It writes each body that it receives, as a
// watch frame, to all watchers.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { answerCalls } from '../processes/answer-calls.ts';

const watchers: ServerResponse[] = [];
let revision = 0;

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'GET') {
    response.writeHead(200, { 'Content-Type': 'application/json' }).flushHeaders();
    watchers.push(response);
    return;
  }
  const body = await buffer(request);
  revision += 1;
  const frame = Buffer.concat([Buffer.from('{"type":"ADDED","object":'), body, Buffer.from('}\n')]);
  for (const watcher of watchers) watcher.write(frame);
  response.writeHead(201).end(JSON.stringify({ metadata: { resourceVersion: revision.toString() } }));
}

answerCalls({
  start: async () => {
    const server = createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`;
  },
});
