import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { refusePlainHttp } from './plain-http-refusal.ts';

const timeoutMs = 50;
const refusal = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nuse https';

describe('plain HTTP to an HTTPS server', () => {
  const clock = new FakeClock();
  let server: Server;

  before(async () => {
    server = createServer({ handshakeTimeout: timeoutMs }, () => expect.fail('no request may arrive'));
    refusePlainHttp(server, { refusal, timeoutMs, clock });
    server.on('clientError', (_error, socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });

  after((done) => void server.close(done));

  /**
   * Returns the text that the server sends until it closes the connection. Calls `onText` with the text so far, each
   * time data arrives.
   */
  async function exchange(begin: (socket: Socket) => void, onText: (text: string) => void = () => {}): Promise<string> {
    const { port } = server.address() as AddressInfo;
    return new Promise((resolve) => {
      let text = '';
      const socket = connect({ port, host: '127.0.0.1' }, () => begin(socket));
      socket.on('data', (chunk) => onText((text += String(chunk))));
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(text));
    });
  }

  for (const method of ['GET', 'PATCH', 'DELETE', 'CONNECT', 'x'])
    it(`gets a response to the method ${method}`, async () => {
      expect(await exchange((socket) => socket.write(`${method} / HTTP/1.1\r\nHost: x\r\n\r\n`))).to.equal(refusal);
    });

  it('gets the refusal after the first byte of a request, and also for a request with a body of 1 MB', async () => {
    expect(await exchange((socket) => socket.write('G'))).to.equal(refusal);
    const body = `POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(1_000_000)}`;
    expect(await exchange((socket) => socket.write(body))).to.equal(refusal);
  });

  it('is disconnected after the response when the client sends forever', async () => {
    const answer = await exchange(
      (socket) => {
        socket.write('POST / HTTP/1.1\r\n');
        const more = (): void => void (socket.writable && socket.write('x'.repeat(1000), () => setImmediate(more)));
        more();
      },
      (text) => void (text === refusal && clock.advance(timeoutMs)),
    );
    expect(answer).to.equal(refusal);
  });

  it('gets no response when the client sends nothing or half a handshake, but the connection is closed after a time', async () => {
    const silent = exchange(() => undefined);
    await eventually(() => clock.pendingTimers > 0);
    await clock.advance(timeoutMs);
    expect(await silent).to.equal('');
    expect(await exchange((socket) => socket.write(Buffer.from([0x16])))).to.equal('');
    expect(await exchange((socket) => socket.end())).to.equal('');
    expect(await exchange((socket) => socket.resetAndDestroy())).to.equal('');
    await eventually(() => clock.pendingTimers === 0);
  });
});
