import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Clock } from '@homeostat/controller-runtime/api';

/** The first byte of a TLS connection: the type of a handshake record (RFC 8446, 5.1). */
const handshakeRecord = 0x16;

export interface PlainHttpRefusal {
  /** The complete HTTP response to plain HTTP. */
  readonly refusal: string;
  /**
   * The time after which a connection that has not started TLS is closed. Within this time, a client that has sent
   * plain HTTP must also have read the response and closed the connection.
   */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/**
 * Makes an HTTPS server respond to plain HTTP; otherwise the server would close the connection without a response.
 * Checks the first byte of each connection before TLS reads the byte.
 */
export function refusePlainHttp(server: Server, { refusal, timeoutMs, clock }: PlainHttpRefusal): void {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  const beginTls = (socket: Socket): void => {
    for (const listener of listeners) Reflect.apply(listener, server, [socket]);
  };
  server.on('connection', (socket: Socket) => {
    const timer = clock.setTimeout(() => socket.destroy(), timeoutMs);
    socket.once('close', () => clock.clearTimeout(timer));
    // An error closes the connection, so the listener has nothing to do.
    socket.on('error', () => undefined);
    socket.once('readable', () => {
      const head: unknown = socket.read();
      if (!(head instanceof Buffer) || head[0] !== handshakeRecord) {
        if (head === null) socket.end();
        else socket.end(refusal);
        // Data that arrives later is read and dropped: unread data would reset the connection when it is closed, and
        // the response would be lost.
        socket.resume();
        return;
      }
      clock.clearTimeout(timer);
      socket.unshift(head);
      beginTls(socket);
    });
  });
}
