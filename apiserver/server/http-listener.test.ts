import { once } from 'node:events';
import { connect } from 'node:net';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { connectionTimes, defaultMaxConnections } from './connection-limits.ts';
import { ConnectionTable } from './connection-table.ts';
import { HttpListener } from './http-listener.ts';

/** The time limits of some tests. They are short, because Node measures them with the real clock. */
const times = { headersMs: 100, requestMs: 200, checkMs: 20 };
const address = { host: '127.0.0.1', port: 0, insecure: false };
const whole = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

describe('connections of a server', () => {
  let clock: FakeClock;
  let listener: HttpListener;
  let sockets: Socket[];

  async function start(maxConnections = Number.POSITIVE_INFINITY): Promise<void> {
    clock = new FakeClock();
    sockets = [];
    listener = new HttpListener((_request, response) => response.end('ok'), {
      clock,
      connections: new ConnectionTable({ maxConnections }),
    });
    await listener.listen(address);
  }

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await listener.close();
  });

  /** Opens a connection whose client does not close its side when the server closes the connection. */
  async function open(text = ''): Promise<Socket> {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(listener.url).port), allowHalfOpen: true });
    socket.on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
    socket.write(text);
    return socket;
  }

  const slow = {
    'missing headers': '',
    'half of the headers': 'GET / HTTP/1.1\r\nHo',
    'half of a body': 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf',
  };
  for (const [what, text] of Object.entries(slow))
    it(`get a 408 for ${what}, and are closed even if the client does not close them`, async () => {
      listener = new HttpListener(() => undefined, { clock: (clock = new FakeClock()), times });
      sockets = [];
      await listener.listen(address);
      const socket = await open(text);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(String(answer)).to.match(/^HTTP\/1\.1 408 /);
      await eventually(async () => {
        await clock.advance(2000);
        // A write to a connection that the server has closed causes a reset.
        socket.write('x');
        return socket.destroyed;
      });
    });

  it('have 10 s for the headers and 60 s for a whole request; these times are checked every second', () => {
    expect(connectionTimes).to.deep.equal({ headersMs: 10_000, requestMs: 60_000, checkMs: 1000 });
  });

  it('that have sent no request are closed, the oldest first, when a new connection arrives and the maximum number is open', async () => {
    await start(4);
    const silent = [];
    for (let index = 0; index < 4; index += 1) silent.push(await open());
    const first = once((silent[0] as Socket).resume(), 'end');
    const socket = await open(whole);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(String(answer)).to.match(/^HTTP\/1\.1 200 /);
    await first;
  });

  it('that are idle after a request are closed when a new connection arrives and the maximum number is open', async () => {
    await start(2);
    for (let index = 0; index < 5; index += 1) {
      const socket = await open(whole);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(String(answer)).to.match(/^HTTP\/1\.1 200 /);
    }
  });

  it('at the maximum number: a new connection replaces one on which the body of a request is still arriving', async () => {
    clock = new FakeClock();
    sockets = [];
    listener = new HttpListener((request, response) => request.resume().once('end', () => response.end('ok')), {
      clock,
      connections: new ConnectionTable({ maxConnections: 2 }),
    });
    await listener.listen(address);
    const half = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf';
    for (let index = 0; index < 6; index += 1) await open(half);
    const [answer] = (await once(await open(whole), 'data')) as [Buffer];
    expect(String(answer)).to.match(/^HTTP\/1\.1 200 /);
  });

  it('are closed one by one at the maximum: a new connection closes the one that has been idle for longest', async () => {
    await start(3);
    const idle = [];
    for (let index = 0; index < 3; index += 1) {
      const socket = await open(whole);
      await once(socket, 'data');
      idle.push(socket);
    }
    // After another request, the first connection is no longer the one that has been idle for longest.
    idle[0]?.write(whole);
    await once(idle[0] as Socket, 'data');
    const closed = once(idle[1] as Socket, 'end');
    await once(await open(whole), 'data');
    await closed;
    expect(idle.map(({ readableEnded }) => readableEnded)).to.deep.equal([false, true, false]);
  });

  it('that have delivered only a part of their next request are closed when a new connection arrives and the maximum number is open', async () => {
    await start(4);
    for (let index = 0; index < 4; index += 1) {
      const socket = await open(whole);
      await once(socket, 'data');
      socket.resume().write('GET / HTTP/1.1\r\nHo');
    }
    const [answer] = (await once(await open(whole), 'data')) as [Buffer];
    expect(String(answer)).to.match(/^HTTP\/1\.1 200 /);
  });

  it('that have been idle for five seconds are closed when a new connection arrives and the maximum number is open', async () => {
    await start(2);
    for (let index = 0; index < 2; index += 1) await once(await open(whole), 'data');
    await clock.advance(5000);
    for (let index = 0; index < 4; index += 1) {
      const [answer] = (await once(await open(whole), 'data')) as [Buffer];
      expect(String(answer)).to.match(/^HTTP\/1\.1 200 /);
    }
  });

  it('with a request in progress stay open at the maximum number, even if part of a second request has arrived', async () => {
    let asked = 0;
    const half = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf';
    listener = new HttpListener(() => (asked += 1), {
      clock: (clock = new FakeClock()),
      connections: new ConnectionTable({ maxConnections: 1 }),
    });
    sockets = [];
    await listener.listen(address);
    const first = await open(whole + half);
    await eventually(() => asked === 1);
    await textOf(await open(whole));
    expect(first.readableEnded).to.equal(false);
    first.destroy();
  });

  it('that all have a request in progress are not replaced: at the maximum, a new connection is closed', async () => {
    let asked = 0;
    listener = new HttpListener(() => (asked += 1), {
      clock: (clock = new FakeClock()),
      connections: new ConnectionTable({ maxConnections: 2 }),
    });
    sockets = [];
    await listener.listen(address);
    for (let index = 0; index < 2; index += 1) await open(whole);
    await eventually(() => asked === 2);
    const late = await open(whole);
    await textOf(late);
    expect(asked).to.equal(2);
    for (const socket of sockets.slice(0, 2)) expect(socket.readableEnded).to.equal(false);
    for (const socket of sockets) socket.destroy();
  });
});

describe('requests that wait behind another request on their connection', () => {
  it('share one memory limit, which counts the sizes of their headers; at the limit, the server closes connections [slow]', async () => {
    const responses: ServerResponse[] = [];
    const listener = new HttpListener((_, response) => responses.push(response), { clock: new FakeClock() });
    await listener.listen(address);
    const long = `GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'x'.repeat(15_000)}\r\n\r\n`;
    let closed = 0;
    const sockets = [];
    // The server reads from a connection until 512 KiB are queued, so 128 connections reach the limit of 64 MiB.
    for (let index = 0; index < 150; index += 1) {
      const socket = connect({ host: '127.0.0.1', port: Number(new URL(listener.url).port) });
      socket.on('error', () => undefined).on('close', () => (closed += 1));
      socket.write(whole + long.repeat(40));
      sockets.push(socket);
    }
    await eventually(() => closed > 0);
    expect(responses.length).to.be.above(100);
    for (const socket of sockets) socket.destroy();
    // The server has paused these connections, so it does not notice that the clients have closed them. The test closes
    // the server's ends, too, because `close` would wait for them.
    for (const { req } of responses) req.socket.destroy();
    await listener.close();
  });
});

describe('the default maximum number of connections', () => {
  it('is a number on Linux, and undefined on systems that do not report their limit of file descriptors', () => {
    const most = defaultMaxConnections();
    if (process.platform === 'linux') expect(most).to.be.a('number').and.be.at.least(1);
    else expect(most).to.equal(undefined);
  });
});
