import { defineModel } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { startTestServer } from '../../testing/index.ts';
import type { TestServer } from '../../testing/index.ts';

const script = fileURLToPath(new URL('../../../bin/homeostat.js', import.meta.url));

const Book = defineModel({
  gvk: 'library.example.com/v1/Book',
  plural: 'books',
  schema: { type: 'object', properties: {} },
});

/** Starts a proxy of a server. The proxy never responds to requests with a field selector, and forwards all others. */
async function startStalledProxy(target: string): Promise<Server> {
  const forward = (incoming: IncomingMessage, response: ServerResponse): void => {
    const { method, headers, url = '' } = incoming;
    if (url.includes('fieldSelector')) return;
    const forwarded = request(target + url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(forwarded);
  };
  const proxy = createServer(forward).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return proxy;
}

describe('homeostat wait', () => {
  let server: TestServer;
  let proxy: Server;

  before(async () => {
    server = await startTestServer({ models: [Book] });
    proxy = await startStalledProxy(server.url);
  });

  after(async () => {
    proxy.closeAllConnections();
    proxy.close();
    await server.stop();
  });

  it('ends at its time limit when the server never responds to the request that lists the object [slow]', async () => {
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const args = ['wait', '--for=create', 'book/emma', '--timeout=10s', '--server', url];
    const child = spawn(process.execPath, [...process.execArgv, script, ...args]);
    try {
      let text = '';
      child.stderr.on('data', (piece) => (text += String(piece)));
      const [code] = (await once(child, 'close')) as [number];
      expect(text).to.include('timed out waiting for the condition on books/emma');
      expect(code).to.equal(1);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
