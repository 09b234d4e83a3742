import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { route, ServerResponse } from '@homeostat/apiserver/endpoints';
import type { Logger } from '@homeostat/controller-runtime/api';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { machines, person, persons } from './support/models/models.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

const token = 'correct-horse-battery-staple';
const badRequest = { kind: 'Status', status: 'Failure', reason: 'BadRequest', code: 400 };

/** A logger that keeps each warning and each error as a line of JSON. */
class LogLines implements Logger {
  readonly lines: string[] = [];
  debug = (): void => undefined;
  info = (): void => undefined;
  warn = (fields: object, message: string): void => this.#add(fields, message);
  error = (fields: object, message: string): void => this.#add(fields, message);

  #add(fields: object, message: string): void {
    this.lines.push(JSON.stringify({ ...fields, message, stack: String(Reflect.get(fields, 'err')) }));
  }
}

describe('requests without a credential', () => {
  let server: TestServer;
  let log: LogLines;
  let clock: FakeClock;

  beforeEach(async () => {
    log = new LogLines();
    clock = new FakeClock();
    server = await TestServer.start({ logger: log, clock });
  });

  afterEach(() => server.stop());

  const raw = async (head: string): Promise<string> => server.raw(`${head}\r\nConnection: close\r\n\r\n`);

  async function counted(code: number): Promise<number> {
    const { text } = await server.get('/metrics');
    const found = text.matchAll(new RegExp(`^apiserver_request_total\\{.*code="${code}".*\\} (\\d+)$`, 'gm'));
    return [...found].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  const targets = [
    'http://',
    'http://[::1',
    'https://[::1]:x/',
    'http:///livez',
    'ftp://localhost/livez',
    'http://user:secret@localhost/livez',
  ];
  for (const target of targets)
    it(`to ${target} get 400, are counted, and are not logged`, async () => {
      const answer = await raw(`GET ${target} HTTP/1.1\r\nHost: localhost`);
      expect(answer).to.match(/^HTTP\/1\.1 400 /);
      expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).to.include(badRequest);
      expect(await counted(400)).to.equal(1);
      expect(log.lines).to.deep.equal([]);
    });

  it('may have an absolute URL, whose host replaces the Host header', async () => {
    expect(await raw('GET http://localhost/livez HTTP/1.1\r\nHost: other.example.com')).to.match(/^HTTP\/1\.1 200 /);
    expect(await raw('GET http://other.example.com/livez HTTP/1.1\r\nHost: localhost')).to.match(/^HTTP\/1\.1 403 /);
    expect(await raw('GET http://localhost?verbose HTTP/1.1\r\nHost: localhost')).to.match(/^HTTP\/1\.1 200 /);
  });

  for (const hosts of [
    ['localhost', 'localhost'],
    ['localhost', 'evil.example.com'],
    ['localhost:evil'],
    ['localhost:80:80'],
    ['localhost/x'],
    ['a@localhost'],
    ['[::1'],
    ['[::1]x'],
    ['local host'],
    [''],
    [],
  ])
    it(`with ${hosts.length === 0 ? 'no Host' : `the Host ${hosts.map((host) => `"${host}"`).join(' and ')}`} get 400`, async () => {
      const lines = hosts.map((host) => `\r\nHost: ${host}`).join('');
      const answer = await raw(`GET /livez HTTP/1.1${lines}`);
      expect(answer).to.match(/^HTTP\/1\.1 400 /);
      expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).to.include(badRequest);
    });

  it('to an unknown Host are logged in short lines, at most ten per minute', async () => {
    const path = `/${'x'.repeat(15_000)}`;
    for (let count = 0; count < 30; count += 1) await server.get(path, { host: 'evil.example.com' });
    expect(log.lines).to.have.length(10);
    for (const line of log.lines) expect(line.length).to.be.below(500);
    await clock.advance(60_000);
    await server.get('/livez', { host: 'evil.example.com' });
    expect(JSON.parse(log.lines[10] ?? '')).to.include({ leftOut: 20, path: '/livez', address: '127.0.0.1' });
  });

  it('are refused with 403 when they are writes with sec-fetch-site: cross-site, with every media type', async () => {
    for (const type of ['application/json', 'text/plain', '']) {
      const headers = { 'sec-fetch-site': 'cross-site' };
      expectRefusal(await server.post(persons, person('ann'), { headers, type }), { reason: 'Forbidden' });
    }
    expect((await server.get(persons, { 'sec-fetch-site': 'cross-site' })).status).to.equal(200);
    const own = { headers: { 'sec-fetch-site': 'same-origin' } };
    expect((await server.post(persons, person('ann'), own)).status).to.equal(201);
  });

  it('get the header X-Content-Type-Options: nosniff in every response', async () => {
    const owned = server.api.endpoints.forOwner('sniffing');
    owned.add(
      route('api.example.com/v1')
        .GET('/page', () => ServerResponse.ok().text('<p>'))
        .build(),
    );
    owned.open();
    const paths = [
      persons,
      `${persons}/nobody`,
      machines,
      '/livez',
      '/metrics',
      '/docs',
      '/apis',
      '/nowhere',
      '/export',
    ];
    for (const path of [...paths, '/apis/api.example.com/v1/page', `${persons}?watch=true&timeoutSeconds=1`]) {
      const headers = await headersOf(path);
      expect(headers['x-content-type-options'], path).to.equal('nosniff');
    }
    expect(await server.raw('nonsense\r\n\r\n')).to.match(/\r\nX-Content-Type-Options: nosniff\r\n/);
  });

  async function headersOf(path: string): Promise<IncomingMessage['headers']> {
    return new Promise((resolve, reject) => {
      const call = request({ host: '127.0.0.1', port: server.port, path, agent: false }, ({ headers }) => {
        call.destroy();
        resolve(headers);
      });
      call.on('error', reject);
      call.end();
    });
  }
});

describe('failed credentials', () => {
  let server: TestServer;
  let log: LogLines;

  beforeEach(async () => {
    log = new LogLines();
    server = await TestServer.start({ logger: log, token });
  });

  afterEach(() => server.stop());

  it('are logged in short lines without the credential, at most ten per minute', async () => {
    const wrong = 'wrong-horse-battery-staple';
    for (let count = 0; count < 30; count += 1)
      await server.get(`${persons}/${'x'.repeat(9000)}?access_token=${wrong}`, { authorization: `Bearer ${wrong}` });
    expect(log.lines).to.have.length(10);
    for (const line of log.lines) expect(line.length).to.be.below(500);
    expect(log.lines.join('\n')).to.contain('wrong credentials').and.not.contain(wrong);
    expect(JSON.parse(log.lines[0] ?? '')).to.include({ address: '127.0.0.1', method: 'GET' });
  });

  it('are logged as "no credentials" when the request has no credential', async () => {
    await server.get(persons);
    expect(log.lines.join('\n')).to.contain('no credentials');
  });
});

describe('a server behind a proxy', () => {
  const origin = 'https://api.example.com';
  const sent = { host: 'api.example.com', origin, 'x-forwarded-proto': 'https' };
  let server: TestServer;

  async function start(trustedProxies: readonly string[]): Promise<void> {
    server = await TestServer.start({ hostNames: ['api.example.com'], trustedProxies, maxWatchesPerAddress: 2 });
  }

  afterEach(() => server.stop());

  for (const proxy of ['127.0.0.1', '127.0.0.0/8'])
    it(`accepts a write whose Origin has the host of the server only if x-forwarded-proto has the scheme of the Origin (trusted proxy: ${proxy})`, async () => {
      await start([proxy]);
      expect((await server.post(persons, person('ann'), { headers: sent })).status).to.equal(201);
      const plain = { headers: { ...sent, 'x-forwarded-proto': 'http' } };
      expectRefusal(await server.post(persons, person('bob'), plain), { reason: 'Forbidden' });
      // The client has sent `https`, and the proxy has appended `http`. Only the last value counts.
      const forged = { headers: { ...sent, 'x-forwarded-proto': 'https, http' } };
      expectRefusal(await server.post(persons, person('bob'), forged), { reason: 'Forbidden' });
    });

  it('ignores x-forwarded-proto from clients that are not trusted proxies', async () => {
    await start(['10.0.0.0/8', 'fd00::/8']);
    expectRefusal(await server.post(persons, person('ann'), { headers: sent }), { reason: 'Forbidden' });
  });

  it("limits the watches of each address, which it reads from the proxy's header", async () => {
    await start(['127.0.0.1']);
    const path = `${persons}?watch=true`;
    const from = (address: string): Record<string, string> => ({ 'x-forwarded-for': `6.6.6.6, ${address}` });
    const open = [await server.watch(path, from('1.2.3.4')), await server.watch(path, from('1.2.3.4'))];
    const refused = await server.get(path, from('1.2.3.4'));
    expectRefusal(refused, { reason: 'TooManyRequests', message: 'one address' });
    expect((await server.watch(path, from('1.2.3.5'))).status).to.equal(200);
    open[0]?.close();
    await server.get(`${persons}/nobody`);
    let again = await server.watch(path, from('1.2.3.4'));
    while (again.status === 429) again = await server.watch(path, from('1.2.3.4'));
  });

  it('limits the watches of all addresses of an IPv6 /64 network together', async () => {
    await start(['127.0.0.1']);
    const path = `${persons}?watch=true`;
    const from = (address: string): Record<string, string> => ({ 'x-forwarded-for': address });
    await server.watch(path, from('2001:db8:0:1::1'));
    await server.watch(path, from('2001:db8:0:1:ffff::2'));
    const refused = await server.get(path, from('2001:db8:0:1:2:3:4:5'));
    expectRefusal(refused, { reason: 'TooManyRequests', message: 'one address' });
    expect((await server.watch(path, from('2001:db8:0:2::1'))).status).to.equal(200);
  });

  it('counts watches that have not started yet toward the limit of watches from one address, but not failed watches [slow]', async () => {
    await start(['127.0.0.1']);
    const path = `${persons}?watch=true`;
    for (const query of ['labelSelector=(', 'timeoutSeconds=x', 'labelSelector=(', 'resourceVersion=1&fieldSelector=a'])
      expect((await server.get(`${path}&${query}`)).status).to.equal(400);
    const future = `${path}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=999999`;
    const waiting = [server.get(future), server.get(future)];
    expectRefusal(await server.get(path), { reason: 'TooManyRequests', message: 'one address' });
    for (const each of waiting) expect((await each).status).to.equal(504);
    expect((await server.watch(path)).status).to.equal(200);
  });

  it('refuses to start with a malformed address of a proxy', async () => {
    await start([]);
    for (const proxy of ['proxy.example.com', '10.0.0.0/33', '10.0.0.0/', 'fd00::/129', '']) {
      const failed = await TestServer.start({ trustedProxies: [proxy] }).catch((error: unknown) => error);
      expect(failed, proxy).to.be.instanceOf(TypeError);
      expect(String(failed)).to.contain('trustedProxies').and.contain(proxy);
    }
  });
});
