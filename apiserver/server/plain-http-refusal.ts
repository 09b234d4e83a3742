import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Clock } from '@homeostat/controller-runtime/api';

/** The first byte of a TLS connection: the type of a handshake record (RFC 8446, 5.1). */
const handshakeRecord = 0x16;

export interface PlainHttpRefusal {
  /** A complete HTTP response. */
  readonly refusal: string;
  /**
   * The time within which a connection has to start TLS. A client that sent plain HTTP has the same time to read the
   * response and close.
   */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/**
 * Responds to plain HTTP on an HTTPS server, which would otherwise close the connection without a word. Checks the
 * first bytes of each connection before TLS sees them.
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
    // An error closes the connection; nothing else has to be done.
    socket.on('error', () => undefined);
    socket.once('readable', () => {
      const head: unknown = socket.read();
      if (!(head instanceof Buffer) || head[0] !== handshakeRecord) {
        if (head === null) socket.end();
        else socket.end(refusal);
        // Closing with unread data would reset the connection and lose the response.
        socket.resume();
        return;
      }
      clock.clearTimeout(timer);
      socket.unshift(head);
      beginTls(socket);
    });
  });
}
