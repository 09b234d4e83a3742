import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Clock } from '@homeostat/controller-runtime/api';

/** First byte of a TLS connection: the type of a handshake record (RFC 8446, 5.1). */
const handshakeRecord = 0x16;

export interface PlainHttpRefusal {
  /** A whole HTTP response. */
  readonly refusal: string;
  /** How long a connection may take until TLS begins, or, of plain HTTP, to read the answer and go. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/**
 * Answers those who speak plain HTTP to an HTTPS server, which by itself would hang up without a word. Looks at the
 * first bytes of each connection before TLS sees them.
 */
export function refusePlainHttp(server: Server, { refusal, timeoutMs, clock }: PlainHttpRefusal): void {
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  const beginTls = (socket: Socket): void => {
    for (const listener of listeners) listener.call(server, socket);
  };
  server.on('connection', (socket: Socket) => {
    const timer = clock.setTimeout(() => socket.destroy(), timeoutMs);
    socket.once('close', () => clock.clearTimeout(timer));
    // What fails closes, and that is all there is to do about it.
    socket.on('error', () => undefined);
    socket.once('readable', () => {
      const head = socket.read() as Buffer | null;
      if (head?.[0] !== handshakeRecord) {
        if (head === null) socket.end();
        else socket.end(refusal);
        // Closed with something unread, a connection is reset, and the answer with it.
        socket.resume();
        return;
      }
      clock.clearTimeout(timer);
      socket.unshift(head);
      beginTls(socket);
    });
  });
}
