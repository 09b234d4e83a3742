import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { route, ServerResponse } from '@homeostat/apiserver/endpoints';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { person, persons } from './support/models/models.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

const MiB = 1024 * 1024;

/** The number of bodies of 3 MiB that together exceed the memory limit of all bodies. */
const tooMany = 22;

const endpoint = '/apis/api.example.com/v1/bodies';

describe('bodies of requests in progress', () => {
  let server: TestServer;
  let sockets: Socket[];

  before(async () => {
    server = await TestServer.start({ trustedProxies: ['127.0.0.1'] });
    const owned = server.api.endpoints.forOwner('bodies');
    owned.add(
      route('api.example.com/v1')
        .POST('/bodies', async (request) => ServerResponse.ok().json((await request.bytes()).length))
        .POST('/lines', async (request) => {
          let lines = 0;
          for await (const value of request.ndjson()) lines += value === null ? 0 : 1;
          return ServerResponse.ok().json(lines);
        })
        .build(),
    );
    owned.open();
  });

  beforeEach(() => {
    sockets = [];
  });

  after(() => server.stop());

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await eventually(async () => (await inFlight()) === 0);
  });

  /** Opens a request from one of three client addresses, because a single address may use only half of the memory. */
  function open(path: string, headers: string, body: string | Buffer = ''): Socket {
    return openFrom(`10.0.0.${sockets.length % 3}`, path, headers, body);
  }

  function openFrom(address: string, path: string, headers: string, body: string | Buffer = ''): Socket {
    const socket = server.connect();
    sockets.push(socket);
    socket.on('error', () => undefined).resume();
    socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${address}\r\n${headers}\r\n\r\n`);
    socket.write(body);
    return socket;
  }

  async function inFlight(): Promise<number> {
    const { text } = await server.get('/metrics');
    return Number(/^apiserver_current_inflight_requests\{request_kind="mutating"\} (\d+)/m.exec(text)?.[1]);
  }

  function large(name: string): Record<string, unknown> {
    return person(name, { tags: ['x'.repeat(1_200_000)] });
  }

  /**
   * Expects that the server refuses large bodies and accepts small ones. Then closes the connections in `sockets`, and
   * expects that the server accepts large bodies again.
   */
  async function expectFull(): Promise<void> {
    const refused = await server.post(persons, large('late'));
    expectRefusal(refused, { reason: 'ServiceUnavailable', message: 'too much memory' });
    expect(refused.headers['retry-after']).to.equal('1');
    expectRefusal(await server.post(endpoint, large('late')), { reason: 'ServiceUnavailable' });
    expect((await server.post(persons, person('small'))).status).to.equal(201);
    await server.delete(`${persons}/small`);
    await expectFreed();
  }

  async function expectFreed(): Promise<void> {
    for (const socket of sockets) socket.destroy();
    await eventually(async () => (await server.post(persons, large('late'))).status === 201);
    await server.delete(`${persons}/late`);
  }

  for (const path of [persons, endpoint])
    it(`count with their Content-Length toward a shared memory limit; beyond it, large bodies get 503 with Retry-After (${path})`, async () => {
      for (let index = 0; index < tooMany; index += 1) open(path, `Content-Length: ${3 * MiB}`);
      await eventually(async () => (await inFlight()) === tooMany - 1);
      await expectFull();
    });

  it('of one client address use at most half of the memory limit [slow]', async () => {
    const refused: string[] = [];
    const address = '10.0.0.1';
    for (let index = 0; index < tooMany; index += 1) {
      const socket = openFrom(address, persons, `Content-Length: ${3 * MiB}`);
      socket.on('data', (answer: Buffer) => refused.push(String(answer)));
    }
    await eventually(async () => refused.length > 0 && (await inFlight()) === tooMany - refused.length);
    expect(refused).to.have.length(tooMany - 10);
    for (const answer of refused) expect(answer).to.match(/^HTTP\/1\.1 503 [^]*retry-after: 1[^]*one client address/i);
    const own = await server.post(persons, large('own'), { headers: { 'x-forwarded-for': address } });
    expect(own.status).to.equal(201);
    const other = { headers: { 'x-forwarded-for': '10.0.0.2' } };
    for (let index = 0; index < 5; index += 1) {
      openFrom('10.0.0.2', persons, `Content-Length: ${3 * MiB}`);
      expect((await server.post(persons, large(`other-${index}`), other)).status).to.equal(201);
    }
    await expectFreed();
  });

  for (const [what, path] of [
    ['when they have no Content-Length', persons],
    ['when they are read line by line [slow]', '/apis/api.example.com/v1/lines'],
  ] as const)
    it(`count toward the memory limit with the bytes that have arrived, ${what} [slow]`, async () => {
      const refused: string[] = [];
      const chunk = `${(2.5 * MiB).toString(16)}\r\n${' '.repeat(2.5 * MiB)}\r\n`;
      for (let index = 0; index < 2 * tooMany; index += 1)
        open(path, 'Transfer-Encoding: chunked', chunk).on('data', (answer: Buffer) => refused.push(String(answer)));
      await eventually(async () => refused.length >= tooMany);
      for (const answer of refused) expect(answer).to.match(/^HTTP\/1\.1 503 /);
      await expectFreed();
    });

  it('in chunks of one byte are accepted: their bytes count toward the memory limit, not the number of chunks [slow]', async () => {
    const body = JSON.stringify(person('bytewise')).padEnd(100_000);
    const chunks = body.replaceAll(/./g, '1\r\n$&\r\n');
    const request = `POST ${persons} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n`;
    expect(await server.raw(`${request}${chunks}0\r\n\r\n`)).to.match(/^HTTP\/1\.1 201 /);
  });

  it('that were compressed no longer count toward the memory limit once the response is sent [slow]', async () => {
    const body = gzipSync(JSON.stringify(large('inflated')));
    for (let index = 0; index < 3 * tooMany; index += 1) {
      const answer = await server.post(endpoint, body, { headers: { 'content-encoding': 'gzip' } });
      expect(answer.body).to.be.above(1_200_000);
    }
  });

  it('no longer count toward the memory limit after the response, a refusal or a closed connection [slow]', async () => {
    const bodies = [JSON.stringify(person('ok')).padEnd(3 * MiB), '{'.padEnd(3 * MiB), ' '.repeat(3 * MiB + 1)];
    for (let index = 0; index < tooMany; index += 1)
      expect((await server.post(persons, bodies[index % 3])).status).to.be.oneOf([201, 409, 400, 413]);
    for (let index = 0; index < tooMany; index += 1) {
      open(persons, `Content-Length: ${3 * MiB}`, 'half');
      await eventually(async () => (await inFlight()) === 1);
      sockets.at(-1)?.destroy();
      await eventually(async () => (await inFlight()) === 0);
    }
    expect((await server.post(persons, large('after'))).status).to.equal(201);
  });

  it('get the response 503 when they are refused, even when the client sends Connection: close', async () => {
    for (let index = 0; index < tooMany; index += 1) open(persons, `Content-Length: ${3 * MiB}`);
    await eventually(async () => (await inFlight()) === tooMany - 1);
    const headers = `Host: localhost\r\nConnection: close\r\nContent-Length: ${2 * MiB}`;
    const answer = await server.raw(`POST ${persons} HTTP/1.1\r\n${headers}\r\n\r\n${' '.repeat(2 * MiB)}`);
    expect(answer).to.match(/^HTTP\/1\.1 503 /);
  });
});
