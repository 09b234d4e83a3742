import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { IncomingMessage } from 'node:http';
import { startApiServer } from '@homeostat/apiserver';
import { createClient } from '@homeostat/controller-runtime';
import { reasonOf } from '@homeostat/controller-runtime/api';
import type { Logger } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { startTestServer } from 'homeostat/testing';
import { Person, person, persons } from './support/models/models.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { answerOf, TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';

const token = 'correct-horse-battery-staple';
const unauthorized = { reason: 'Unauthorized', message: /^Unauthorized$/ } as const;

describe('a server with a token', () => {
  const lines: string[] = [];
  const log = (fields: object, message: string): void =>
    void lines.push(`${message} ${JSON.stringify(fields)} ${String(Reflect.get(fields, 'err'))}`);
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  let server: TestServer;

  before(async () => {
    server = await TestServer.start({ token, logger });
  });

  after(() => server.stop());

  const bearing = (sent: string): Record<string, string> => ({ authorization: `Bearer ${sent}` });

  it('shows the reason of a failed health check only to clients with the token', async () => {
    const problem = 'cannot read: no route to db.internal';
    const ill = await TestServer.start({ token, readyChecks: [{ name: 'database', check: () => problem }] });
    try {
      for (const headers of [{}, bearing('a-wrong-token-of-somebody')]) {
        const { status, text } = await ill.get('/readyz', headers);
        expect(status).to.equal(503);
        expect(text).to.include('[-]database failed: reason withheld').and.not.include('db.internal');
      }
      expect((await ill.get('/readyz', bearing(token))).text).to.include(`[-]database failed: ${problem}`);
    } finally {
      await ill.stop();
    }
  });

  /** Checks a refusal: all refusals are equal, so that they reveal nothing. */
  function expectUnauthorized(answer: Answer): void {
    expectRefusal(answer, unauthorized);
    expect(answer.headers['www-authenticate']).to.equal('Bearer');
    expect(Object.keys(answer.body)).to.deep.equal([
      'kind',
      'apiVersion',
      'metadata',
      'status',
      'message',
      'reason',
      'code',
    ]);
  }

  it('accepts reads, writes and watches with the token [spec 5-authentication]', async () => {
    const headers = bearing(token);
    expect((await server.post(persons, person('ann'), { headers })).status).to.equal(201);
    expect((await server.get(`${persons}/ann`, headers)).body.metadata.name).to.equal('ann');
    expect((await server.patch(`${persons}/ann`, { spec: { age: 7 } }, { headers })).status).to.equal(200);
    expect((await server.get('/apis', headers)).status).to.equal(200);
    const watch = await server.watch(`${persons}?watch=true`, headers);
    await watch.count(1);
    watch.close();
    expect((await server.delete(`${persons}/ann`, { headers })).status).to.equal(200);
  });

  it('accepts the name of the scheme in upper and lower case, as RFC 7235 requires', async () => {
    for (const scheme of ['bearer', 'BEARER']) {
      expect((await server.get(persons, { authorization: `${scheme} ${token}` })).status).to.equal(200);
    }
  });

  for (const [what, headers] of [
    ['nothing', {}],
    ['another token', bearing('incorrect-horse-battery-staple')],
    ['another token of the same length', bearing(token.replace('c', 'k'))],
    ['the beginning of the token', bearing(token.slice(0, -1))],
    ['the token with another character at its end', bearing(`${token}x`)],
    ['the token twice', bearing(`${token} ${token}`)],
    ['a token of 15,000 characters', bearing('x'.repeat(15_000))],
    ['an empty token', bearing('')],
    ['the token alone', { authorization: token }],
    ['another scheme', { authorization: `Basic ${Buffer.from(`user:${token}`).toString('base64')}` }],
    ['the token in another header', { 'x-token': token, cookie: `token=${token}` }],
  ] as const) {
    it(`refuses a client that sends ${what}`, async () => {
      expectUnauthorized(await server.get(persons, headers));
      expectUnauthorized(await server.post(persons, person('eve'), { headers }));
    });
  }

  it('responds with the same 401 to requests without the token, for any path that needs a credential, any method and any body [spec 5-authentication]', async () => {
    for (const path of [
      '/',
      '/apis',
      '/version',
      '/nowhere',
      '/debug/controllers',
      '/apis/a//b',
      `${persons}/none`,
      '/livez/x',
      `${persons}?watch=true`,
      `${persons}?page=-1`,
      `${persons}?token=${token}`,
    ]) {
      expectUnauthorized(await server.get(path));
    }
    for (const method of ['PUT', 'DELETE', 'OPTIONS', 'PROPFIND'])
      expectUnauthorized(await server.request(method, persons));
    expectUnauthorized(await server.post(persons, '{not json'));
    expectUnauthorized(await server.post(persons, '', { headers: { accept: 'image/png' } }));
    expectUnauthorized(await server.post(persons, Buffer.from([0xff]), { type: 'text/html' }));
  });

  it('sends problem details (RFC 9457) to clients that request them', async () => {
    const answer = await server.get(persons, { accept: 'application/problem+json' });
    expect(answer.status).to.equal(401);
    expect(answer.headers['content-type']).to.equal('application/problem+json');
  });

  it('responds to health checks without a credential', async () => {
    for (const path of ['/livez', '/readyz', '/healthz', '/livez/', '/readyz?verbose']) {
      expect((await server.get(path)).status, path).to.equal(200);
    }
  });

  it('responds with 401 before the body has arrived, and accepts the next request on the same connection', async () => {
    const headers = { 'content-type': 'application/json', 'content-length': '1000' };
    const target = { host: '127.0.0.1', port: server.port, path: persons };
    const call = request({ ...target, method: 'POST', headers, agent: false });
    const answer = once(call, 'response') as Promise<[IncomingMessage]>;
    call.write('{');
    expectUnauthorized(await answerOf((await answer)[0]));
    call.destroy();
    const body = 'x'.repeat(100_000);
    const two = await server.raw(
      `POST ${persons} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}` +
        `GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    );
    expect(two.match(/HTTP\/1.1 \d+/g)).to.deep.equal(['HTTP/1.1 401', 'HTTP/1.1 200']);
  });

  it('closes the connection of a client that continues to send a body without the token', async () => {
    const socket = connect({ host: '127.0.0.1', port: server.port });
    let closed = false;
    socket.on('error', () => (closed = true));
    socket.once('close', () => (closed = true));
    socket.resume();
    socket.write(`POST ${persons} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(1024 * 1024, ' '), Buffer.from('\r\n')]);
    let sent = 0;
    while (!closed && sent < 200) {
      sent += 1;
      if (!socket.write(chunk)) await drainedOrClosed(socket);
    }
    await eventually(() => closed);
    expect(sent, 'MiB until the end').to.be.within(16, 64);
  });

  it('accepts requests and watches of a client with the token', async () => {
    const client = createClient(server.api.url, { token });
    const abort = new AbortController();
    const informer = client.informer(Person);
    const running = informer.run(abort.signal);
    await client.create(Person, { metadata: { name: 'bea' }, spec: { name: 'Bea' } });
    await eventually(() => informer.get({ name: 'bea' }) !== undefined);
    abort.abort();
    await running;
    const refused: unknown = await createClient(server.api.url)
      .list(Person)
      .catch((error: unknown) => error);
    expect(reasonOf(refused)).to.equal('Unauthorized');
  });

  it('does not write the token into its log', () => {
    expect(lines.join('\n')).to.not.include(token);
  });
});

/** Resolves when the socket has drained or closed, and removes its own listeners. */
async function drainedOrClosed(socket: Socket): Promise<void> {
  const waiting = new AbortController();
  const { signal } = waiting;
  const events = ['drain', 'close'].map((event) => once(socket, event, { signal }).catch(() => undefined));
  await Promise.race(events);
  waiting.abort();
}

describe('the token option', () => {
  it('is refused when it is too weak; the message does not contain the token', async () => {
    const error: unknown = await startApiServer({ database: 'memory:', port: 0, token: 'weak' }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error)
      .to.be.instanceOf(TypeError)
      .with.property('message')
      .that.equals('token: must be 16 to 1024 printable ASCII characters, without spaces');
  });

  it('is absent by default: every client has access [spec 5-authentication]', async () => {
    const server = await TestServer.start();
    expect((await server.get(persons)).status).to.equal(200);
    expect((await server.get(persons, { authorization: 'Bearer whatever' })).status).to.equal(200);
    await server.stop();
  });

  it('is used by the HTTP client of a test server', async () => {
    const server = await startTestServer({ token, models: [Person] });
    expect((await server.httpClient.list(Person)).items).to.deep.equal([]);
    expect((await fetch(`${server.url}/apis`)).status).to.equal(401);
    await server.stop();
  });
});
