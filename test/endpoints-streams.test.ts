import { route, ServerResponse } from '@homeostat/apiserver/endpoints';
import type { ServerRequest } from '@homeostat/apiserver/endpoints';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { once } from 'node:events';
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { TestServer } from './support/servers/test-server.ts';

const base = '/apis/api.example.com/v1';
const mebibyte = 1024 * 1024;
const pieceBytes = 64 * 1024;
const totalBytes = 256 * mebibyte;

/** The maximum size of the buffers of a connection: those of the kernel at both ends, and those of Node. */
const mostHeldBytes = 32 * mebibyte;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/**
 * Returns the number of live bytes. Collects garbage twice, because the memory of dead buffers is freed in the
 * background, and the second collection waits for this. After one collection, some 32 MB of garbage still counted;
 * after two, less than 1 MB.
 */
function heldBytes(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Resolves with the number once it has not changed during fifty polls: the producer or the reader is then paused. */
async function standstill(count: () => number): Promise<number> {
  let last = -1;
  let polls = 0;
  await eventually(() => {
    const now = count();
    polls = now === last && now > 0 ? polls + 1 : 0;
    last = now;
    return polls >= 50;
  });
  return last;
}

describe('streams of endpoints', () => {
  let server: TestServer;
  let produced: number;
  let returned: boolean;
  let received: number;
  let release: () => void;

  before(async () => {
    server = await TestServer.start();
    const owned = server.api.endpoints.forOwner('streams');
    owned.add(route('api.example.com/v1').GET('/large', large).POST('/slow', readSlowly).build());
    owned.open();
  });

  beforeEach(() => {
    produced = 0;
    returned = false;
    received = 0;
  });

  after(async () => server.stop());

  function large(): ServerResponse {
    return ServerResponse.ok().stream(
      (async function* produce() {
        try {
          for (; produced < totalBytes; produced += pieceBytes) yield Buffer.alloc(pieceBytes);
        } finally {
          returned = true;
        }
      })(),
    );
  }

  async function readSlowly(request: ServerRequest): Promise<ServerResponse> {
    const gate = new Promise<void>((resolve) => (release = resolve));
    for await (const chunk of request.body) {
      received += chunk.length;
      await gate;
    }
    return ServerResponse.ok().json(received);
  }

  async function open(path: string): Promise<IncomingMessage> {
    const request = get({ host: '127.0.0.1', port: server.port, path: base + path, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response;
  }

  it('pause a producer of 256 MB after less than 32 MB while no client reads [spec 4.3-back-pressure] [slow]', async () => {
    const before = heldBytes();
    const response = await open('/large');
    expect(await standstill(() => produced)).to.be.lessThan(mostHeldBytes);
    expect(heldBytes() - before).to.be.lessThan(mostHeldBytes);
    response.destroy();
    await eventually(() => returned);
    expect(produced).to.be.lessThan(mostHeldBytes);
  });

  it('hold less than 32 MB in the memory of the server while they send 256 MB to a slow client [slow]', async () => {
    const before = heldBytes();
    const response = await open('/large');
    let bytes = 0;
    let peak = 0;
    let nextSample = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes < nextSample) continue;
      nextSample += 64 * mebibyte;
      // These turns of the event loop without a read give the producer time to run ahead.
      for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      peak = Math.max(peak, heldBytes() - before);
    }
    expect(bytes).to.equal(totalBytes);
    expect(peak).to.be.lessThan(mostHeldBytes);
    expect(returned).to.equal(true);
  });

  it('slow down a client that sends faster than a handler reads [spec 4.3-back-pressure]', async () => {
    const length = 64 * mebibyte;
    const socket = connect({ host: '127.0.0.1', port: server.port });
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    socket.write(`POST ${base}/slow HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${length}\r\n\r\n`);
    const piece = Buffer.alloc(pieceBytes);
    const sending = (async () => {
      for (let sent = 0; sent < length; sent += pieceBytes) if (!socket.write(piece)) await once(socket, 'drain');
    })();
    const left = await standstill(() => socket.bytesWritten - socket.writableLength);
    expect(left).to.be.lessThan(mostHeldBytes);
    expect(received).to.be.lessThan(mebibyte);
    release();
    await sending;
    await eventually(() => answer.endsWith(String(length)));
    expect(received).to.equal(length);
    socket.destroy();
  });
});
