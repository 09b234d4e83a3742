import { once } from 'node:events';
import { Agent, get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { route, ServerResponse } from '@homeostat/apiserver/endpoints';
import { expect } from 'chai';
import { persons } from './support/models/models.ts';
import { SecureServer, token } from './support/servers/secure-server.ts';
import { end, serve } from './support/commands/serve-command.ts';
import { TestServer } from './support/servers/test-server.ts';

/**
 * The time limits of the tests. They are shorter than 10 s: after this time, a stopping server closes the connections
 * that are still open.
 */
const firstTimeoutMs = 8_000;
const nextTimeoutMs = 4_000;

describe('a server that stops', () => {
  it('does not wait for a connection without any data', async function () {
    this.timeout(firstTimeoutMs);
    const server = await TestServer.start();
    const socket = server.connect();
    // A request on a later connection. When it has a response, the server has also accepted the earlier connection.
    await server.get('/livez');
    await server.stop();
    socket.destroy();
  });

  it('does not wait for a connection that only had a TLS handshake', async function () {
    this.timeout(firstTimeoutMs);
    const server = await SecureServer.start();
    const socket = server.http.connect();
    await once(socket, 'secureConnect');
    await server.http.get('/livez', { authorization: `Bearer ${token}` });
    await server.stop();
    socket.destroy();
  });

  it('does not wait for another request on a connection after its current response', async function () {
    this.timeout(nextTimeoutMs);
    const server = await TestServer.start();
    const owned = server.api.endpoints.forOwner('slow');
    let answer: (response: ServerResponse) => void;
    const begun = new Promise<void>((resolve) => {
      const slow = async (): Promise<ServerResponse> => {
        resolve();
        return new Promise((settle) => (answer = settle));
      };
      owned.add(route('api.example.com/v1').GET('/slow', slow).build());
    });
    owned.open();
    const agent = new Agent({ keepAlive: true });
    const path = '/apis/api.example.com/v1/slow';
    const responded = once(get({ host: '127.0.0.1', port: server.port, path, agent }), 'response');
    await begun;
    const stopped = server.stop();
    answer!(ServerResponse.ok().text('done'));
    const [response] = (await responded) as [IncomingMessage];
    expect(await textOf(response)).to.equal('done');
    await stopped;
    agent.destroy();
  });

  it('responds with 503 to a request that has arrived only in part, and closes the connection', async () => {
    const server = await TestServer.start();
    const socket = server.connect();
    socket.write(`GET ${persons} HTTP/1.1\r\n`);
    const answer = textOf(socket);
    // When two later requests have their responses, the server has read the request line above.
    await server.get('/livez');
    await server.get('/livez');
    const stopped = server.stop();
    socket.write('Host: 127.0.0.1\r\n\r\n');
    expect(await answer)
      .to.match(/^HTTP\/1\.1 503 /)
      .and.to.match(/\r\nconnection: close\r\n/i);
    await stopped;
  });

  for (const level of ['info', 'debug'])
    it(`ends with exit code 0 although the reader of its log has ended, at the level ${level} [slow]`, async () => {
      const { child, url } = await serve('--database', 'memory:', '--log-level', level);
      child.stdout?.destroy();
      expect((await fetch(`${url}/livez`)).status).to.equal(200);
      expect(await end(child, 'SIGTERM')).to.equal(0);
    });
});
