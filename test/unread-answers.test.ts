import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { route, ServerResponse } from '@homeostat/apiserver/endpoints';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { person, persons } from './support/models/models.ts';
import { passCompactions } from './support/servers/pass-time.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

const MiB = 1024 * 1024;

/**
 * The number of objects. Together they are larger than the buffers of a connection, 4 MiB for sending and 6 MiB for
 * receiving.
 */
const objects = 14;

/** The permitted memory for the sockets, buffers and records of several dozen responses. */
const allowance = 64 * MiB;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function bytesInUse(): number {
  collectGarbage();
  const { external, heapUsed } = process.memoryUsage();
  return external + heapUsed;
}

function ask(path: string, headers = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`;
}

describe('responses that clients do not read [slow]', () => {
  let server: TestServer;
  let clock: FakeClock;
  let sockets: Socket[];

  beforeEach(async () => {
    clock = new FakeClock();
    sockets = [];
    const retention = { minAgeMs: 1000, minChanges: 1 };
    server = await TestServer.start({ clock, retention, maxAnswerBytes: 50 * MiB, trustedProxies: ['127.0.0.1'] });
    for (let index = 0; index < objects; index += 1) await server.create(persons, large(index));
  });

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await server.stop();
  });

  /** Returns a Person of 1 MiB. The content is random, so that compression makes it only a quarter smaller. */
  function large(index: number): Record<string, unknown> {
    return person(`p${index}`, { tags: [randomBytes(0.75 * MiB).toString('base64')] });
  }

  /**
   * Sends requests, waits for the beginning of the response, and stops reading. Returns up to 100 characters of the
   * response.
   */
  async function begin(text: string): Promise<{ readonly socket: Socket; readonly head: string }> {
    const socket = server.connect();
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.write(text);
    await once(socket, 'readable');
    return { socket, head: String(socket.read(100)) };
  }

  /**
   * Reads until the connection ends, or until this call has read `most` bytes; the last chunk may exceed this number.
   * Returns the number of bytes read.
   */
  async function rest(socket: Socket, most = Number.POSITIVE_INFINITY): Promise<number> {
    let bytes = 0;
    const over = new Promise<void>((resolve) => {
      if (socket.closed) resolve();
      socket.on('close', resolve);
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes >= most) resolve();
      });
    });
    await over;
    return bytes;
  }

  async function inFlight(): Promise<number> {
    const { text } = await server.get('/metrics');
    return Number(/^apiserver_current_inflight_requests\{request_kind="readOnly"\} (\d+)/m.exec(text)?.[1]);
  }

  for (const encoding of ['identity', 'gzip'])
    it(`are produced only as fast as the clients read them: lists with the encoding ${encoding} [slow]`, async () => {
      const before = bytesInUse();
      await Promise.all(Array.from({ length: 20 }, () => begin(ask(persons, `Accept-Encoding: ${encoding}\r\n`))));
      expect(bytesInUse() - before).to.be.below(allowance);
      const { body } = await server.get(persons);
      expect(body.items).to.have.length(objects);
    });

  it('are produced one at a time for a connection, even after 700 pipelined requests [slow]', async () => {
    const before = bytesInUse();
    await begin(ask(persons).repeat(700));
    // The metric counts the requests whose response has not begun: the request for the metrics itself, and at most one
    // of the 700 pipelined requests, because the server handles them one at a time.
    expect(await inFlight()).to.be.at.most(2);
    expect(bytesInUse() - before).to.be.below(allowance);
  });

  it('are all sent to a client that starts to read [slow]', async () => {
    const { length } = Buffer.from((await server.get(persons)).text);
    const count = 5;
    const { socket } = await begin(ask(persons).repeat(count));
    expect(await rest(socket, count * length)).to.be.at.least(count * length);
  });

  it('are cut off when the client has read nothing for a minute [slow]', async () => {
    const whole = (await server.get(persons)).text.length;
    const { socket } = await begin(ask(persons));
    // The server sends until the buffers of the system are full. Only then does the minute begin, so the clock advances
    // in many short steps.
    for (let passed = 0; passed < 60; passed += 1) await clock.advance(5000);
    expect(await rest(socket)).to.be.below(whole);
  });

  it('are not cut off if the client reads slowly, but never pauses for a minute', async () => {
    const whole = (await server.get(persons)).text.length;
    const { socket } = await begin(ask(persons));
    let bytes = 0;
    while (bytes < whole - MiB) {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) await once(socket, 'readable');
      else bytes += chunk.length;
      await clock.advance(500);
    }
    expect(socket.destroyed).to.equal(false);
  });

  it('are cut off when their revision leaves the history, because they would keep later changes in memory [slow]', async () => {
    const whole = (await server.get(persons)).text.length;
    const { socket } = await begin(ask(persons));
    for (let index = 0; index < objects; index += 1) await server.put(`${persons}/p${index}`, large(index));
    // The worker that reads large bodies, and its timer, end after ten idle seconds.
    await clock.advance(10_000);
    await passCompactions(clock, 1);
    expect(await rest(socket)).to.be.below(whole);
  });

  describe('that are sent in one piece', () => {
    const path = '/apis/api.example.com/v1/large';
    const from = (address: string): Record<string, string> => ({ 'X-Forwarded-For': address });
    let text: string;

    beforeEach(() => {
      text = 'x'.repeat(20 * MiB);
      const owned = server.api.endpoints.forOwner('unread');
      owned.add(
        route('api.example.com/v1')
          .GET('/large', () => ServerResponse.ok().text(text))
          .build(),
      );
      owned.open();
    });

    async function beginFrom(address: string): Promise<Socket> {
      const { socket, head } = await begin(ask(path, `X-Forwarded-For: ${address}\r\n`));
      expect(head).to.match(/^HTTP\/1\.1 200 /);
      return socket;
    }

    async function expectRefused(address: string, message: string): Promise<void> {
      const refused = await server.get(path, from(address));
      expectRefusal(refused, { reason: 'ServiceUnavailable', message });
      expect(refused.headers['retry-after']).to.equal('1');
    }

    it('share a limit; beyond it, further large responses are 503 with Retry-After until clients disconnect [slow]', async () => {
      const unread = [await beginFrom('192.0.2.1'), await beginFrom('192.0.2.2')];
      await expectRefused('192.0.2.3', 'not read yet');
      expect((await server.get(persons)).status).to.equal(200);
      expect((await server.patch(`${persons}/p1`, { spec: { age: 5 } })).status).to.equal(200);
      for (const socket of unread) socket.destroy();
      await eventually(async () => (await server.get(path)).text === text);
    });

    it('may use, for one client address or IPv6 /64 network, at most half of the memory that all unread responses share [slow]', async () => {
      const socket = await beginFrom('2001:db8:0:1::1');
      await expectRefused('2001:db8:0:1::2', 'one client address may use half of this memory');
      expect((await server.get(path, from('2001:db8:0:2::1'))).text).to.equal(text);
      socket.destroy();
      await eventually(async () => (await server.get(path, from('2001:db8:0:1::2'))).text === text);
    });
  });
});
