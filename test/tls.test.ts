import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { startApiServer } from '@homeostat/apiserver';
import { createClient } from '@homeostat/controller-runtime';
import { reasonOf } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { startTestServer } from 'homeostat/testing';
import { machines, newMachine, Person, person, persons } from './support/models/models.ts';
import { TestServer } from './support/servers/test-server.ts';

const hourMs = 3_600_000;

describe('a server with TLS', () => {
  let folder: string;
  let server: TestServer;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-tls-'));
    server = await TestServer.start({ tls: { directory: join(folder, 'tls') }, hostNames: ['home.example.com'] });
  });

  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  /** Resolves with a connection when its handshake is complete. Rejects when the handshake fails. */
  async function shake(options: ConnectionOptions = {}, target: TestServer = server): Promise<TLSSocket> {
    const socket = connectTls({ host: '127.0.0.1', port: target.port, ca: target.api.ca, ...options });
    await once(socket, 'secureConnect');
    return socket;
  }

  async function failure(options: ConnectionOptions): Promise<string> {
    return shake(options).then(
      () => 'none',
      (error: unknown) => (error as NodeJS.ErrnoException).code ?? '',
    );
  }

  it('has an HTTPS URL, and a certificate that the CA in its property `ca` has signed', async () => {
    expect(server.api.url).to.match(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(server.api.ca).to.equal(readFileSync(join(folder, 'tls', 'ca.crt'), 'utf8'));
    for (const servername of ['localhost', 'home.example.com']) (await shake({ servername })).destroy();
    expect(await failure({ servername: 'elsewhere.example.com' })).to.equal('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(await failure({ ca: undefined })).to.equal('SELF_SIGNED_CERT_IN_CHAIN');
  });

  it('accepts only cipher suites with ECDHE and authenticated encryption in TLS 1.2', async () => {
    for (const ciphers of [
      'ECDHE-ECDSA-AES128-SHA',
      'ECDHE-ECDSA-AES256-SHA384',
      'ECDHE-RSA-AES256-SHA',
      'AES256-GCM-SHA384',
    ])
      expect(await failure({ maxVersion: 'TLSv1.2', ciphers }), ciphers).to.match(/HANDSHAKE_FAILURE|NO_CIPHERS/);
    const socket = await shake({ maxVersion: 'TLSv1.2' });
    expect(socket.getCipher().name).to.match(/^ECDHE-.*(GCM|POLY1305)/);
    socket.destroy();
  });

  it('accepts TLS 1.2 and 1.3, but no older versions', async () => {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const socket = await shake({ minVersion: version, maxVersion: version });
      expect(socket.getProtocol()).to.equal(version);
      socket.destroy();
    }
    expect(await failure({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' })).to.equal(
      'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
    );
  });

  it('uses HTTP/1.1 with clients that also offer HTTP/2', async () => {
    const socket = await shake({ ALPNProtocols: ['h2', 'http/1.1'] });
    expect(socket.alpnProtocol).to.equal('http/1.1');
    socket.destroy();
  });

  it('responds to requests as over plain HTTP, also to requests of browsers', async () => {
    await server.create(persons, person('ann'));
    expect((await server.get(`${persons}/ann`)).body.spec.name).to.equal('Ann Lee');
    const host = `localhost:${server.port}`;
    const sent = async (origin: string): Promise<number> =>
      (await server.patch(`${persons}/ann`, {}, { headers: { host, origin } })).status;
    expect(await sent(`https://${host}`)).to.equal(200);
    expect(await sent(`http://${host}`)).to.equal(403);
  });

  it('responds to pipelined requests in their order', async () => {
    const requests = [persons, `${persons}/nobody`, '/livez'].map(
      (path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    );
    const answers = await server.raw(`${requests.join('')}GET /version HTTP/1.0\r\nHost: localhost\r\n\r\n`);
    expect([...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code)).to.deep.equal([
      '200',
      '404',
      '200',
      '200',
    ]);
  });

  it('responds with a Status to input that is not HTTP, and to headers that are too large', async () => {
    const malformed = await server.raw('nonsense\r\n\r\n');
    expect(malformed)
      .to.match(/^HTTP\/1\.1 400 Bad Request\r\n/)
      .and.include('"message":"the request is not valid HTTP"');
    const large = await server.raw(`GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`);
    expect(large)
      .to.match(/^HTTP\/1\.1 431 /)
      .and.include('"code":431');
  });

  it('responds to plain HTTP with 400 and a message that the server needs HTTPS', async () => {
    const answer = await fetch(`http://127.0.0.1:${server.port}${persons}`, { method: 'DELETE' });
    expect(answer.status).to.equal(400);
    expect(answer.headers.get('content-type')).to.equal('application/json');
    expect(await answer.json()).to.include({
      kind: 'Status',
      reason: 'BadRequest',
      message: 'client sent an HTTP request to an HTTPS server',
    });
  });

  it('sends all events in order to a watcher that reads late, while other watches continue [slow]', async () => {
    await server.create(machines, newMachine('m'));
    const revision = await server.revision(machines);
    const late = await server.watch(`${machines}?watch=true&resourceVersion=${revision}`);
    const prompt = await server.watch(`${machines}?watch=true&resourceVersion=${revision}`);
    late.pause();
    const annotations = { long: 'x'.repeat(200 * 1024) };
    const powers = Array.from({ length: 100 }, (_, index) => index + 1);
    for (const power of powers) await server.patch(`${machines}/m`, { metadata: { annotations }, spec: { power } });
    await prompt.count(powers.length);
    expect(late.events.length).to.be.lessThan(powers.length);
    late.resume();
    for (const reader of [prompt, late]) {
      await reader.count(powers.length);
      expect(reader.events.map(({ object }) => object.spec.power)).to.deep.equal(powers);
      reader.close();
    }
  });

  it('ends a watch when the client closes the connection', async () => {
    const own = await TestServer.start({ maxWatches: 1, tls: { directory: join(folder, 'tls') } });
    const watch = `${persons}?watch=true`;
    const socket = await shake({}, own);
    socket.write(`GET ${watch} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await once(socket, 'data');
    expect((await own.get(`${watch}&timeoutSeconds=1`)).status).to.equal(429);
    socket.destroy();
    await eventually(async () => (await own.watch(watch)).status === 200);
    await own.stop();
  });

  it('accepts requests and watches of clients that trust the CA; other clients fail', async () => {
    const { url, ca } = server.api;
    const client = createClient(url, { ca: ca! });
    const abort = new AbortController();
    const informer = client.informer(Person);
    const running = informer.run(abort.signal);
    await client.create(Person, { metadata: { name: 'bea' }, spec: { name: 'Bea' } });
    await eventually(() => informer.get({ name: 'bea' }) !== undefined);
    abort.abort();
    await running;
    const refused: unknown = await createClient(url)
      .list(Person)
      .catch((error: unknown) => error);
    expect(reasonOf(refused)).to.equal('ServiceUnavailable');
    expect(refused)
      .to.be.instanceOf(Error)
      .with.property('message')
      .that.matches(/unable to verify|self-signed/);
    const elsewhere = await createClient(url.replace('127.0.0.1', '127.0.0.2'), { ca: ca! })
      .list(Person)
      .catch((error: unknown) => error);
    expect(elsewhere).to.be.instanceOf(Error);
  });

  it('can be started with startTestServer', async () => {
    const own = await startTestServer({ models: [Person], tls: { directory: join(folder, 'of-a-test') } });
    expect((await own.httpClient.list(Person)).items).to.deep.equal([]);
    expect(own.url).to.match(/^https:/);
    await own.stop();
  });

  it('may listen on other than loopback addresses without the option insecure', async () => {
    const tls = { directory: join(folder, 'tls') };
    const own = await TestServer.start({ host: '0.0.0.0', tls, token: 'correct-horse-battery-staple' });
    expect((await own.get('/livez')).status).to.equal(200);
    await own.stop();
    const refused: unknown = await startApiServer({
      database: 'memory:',
      port: 0,
      host: '0.0.0.0',
      token: 'correct-horse-battery-staple',
    }).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(Error).with.property('message').that.includes('use tls (--tls), or insecure');
  });

  it('accepts an IPv6 address in the Host header', async () => {
    const own = await TestServer.start({ hostNames: ['fd00::7'], tls: { directory: join(folder, 'ipv6') } });
    expect((await own.get(persons, { host: `[fd00::7]:${own.port}` })).status).to.equal(200);
    expect((await own.get(persons, { host: `[fd00::8]:${own.port}` })).status).to.equal(403);
    await own.stop();
  });

  it('closes the database when the start fails because the certificate file is missing [slow]', async () => {
    const database = `sqlite:${join(folder, 'locked.db')}`;
    const tls = { certFile: join(folder, 'none.crt'), keyFile: join(folder, 'none.key') };
    const refused: unknown = await startApiServer({ database, port: 0, tls }).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(Error).with.property('message').that.includes('none.crt');
    await (await startApiServer({ database, port: 0 })).stop();
  });
});

describe('a certificate that is replaced in its file while the server runs', () => {
  it('is used for new connections, while present connections continue', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-tls-'));
    for (const name of ['a', 'b']) {
      await (await TestServer.start({ tls: { directory: join(folder, name) } })).stop();
    }
    // The file has both the certificate and the key.
    const given = join(folder, 'given.pem');
    await cp(join(folder, 'a', 'server.pem'), given);
    const clock = new FakeClock(Date.now());
    const server = await TestServer.start({ clock, tls: { certFile: given, keyFile: given } });
    expect(server.api.ca, 'the file does not hold its authority').to.equal(undefined);
    const connect = async (name: string): Promise<TLSSocket> => {
      const ca = await readFile(join(folder, name, 'ca.crt'));
      const socket = connectTls({ host: '127.0.0.1', port: server.port, ca });
      await once(socket, 'secureConnect');
      return socket;
    };
    const before = await connect('a');
    await cp(join(folder, 'b', 'server.pem'), given);
    await clock.advance(hourMs + 1000);
    const after = await eventually(async () => connect('b').catch(() => undefined));
    for (const socket of [before, after]) {
      socket.write('GET /livez HTTP/1.0\r\nHost: localhost\r\n\r\n');
      expect(await text(socket)).to.match(/^HTTP\/1\.1 200 /);
    }
    await server.stop();
    await rm(folder, { recursive: true });
  });
});
