import type { Socket } from 'node:net';

/**
 * The connections of a server, and which of them have never sent a whole request. Beyond its limit, a new connection takes the
 * place of the oldest one of those, so that silent clients do not keep others out.
 */
export class ConnectionTable {
  readonly #maxConnections: number;
  readonly #closeIdle: () => void;
  readonly #open = new Set<Socket>();
  /** Those that have sent no request, oldest first, by {@link keyOf}: TLS has another socket than the connection under it. */
  readonly #silent = new Map<string, Socket>();
  readonly #heard = new WeakSet<Socket>();

  /** `closeIdle` closes the connections that wait for their next request. */
  constructor(maxConnections: number, closeIdle: () => void) {
    this.#maxConnections = maxConnections;
    this.#closeIdle = closeIdle;
  }

  add(socket: Socket): void {
    const key = keyOf(socket);
    this.#open.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#silent.delete(key);
    });
    if (this.#open.size > this.#maxConnections) this.#makeRoom(socket);
    if (!socket.destroyed) this.#silent.set(key, socket);
  }

  /** A request has come over the connection. */
  hear(socket: Socket): void {
    if (this.#heard.has(socket)) return;
    this.#heard.add(socket);
    this.#silent.delete(keyOf(socket));
  }

  #makeRoom(socket: Socket): void {
    for (const [key, silent] of this.#silent) {
      this.#silent.delete(key);
      silent.destroy();
      return;
    }
    this.#closeIdle();
    let left = 0;
    for (const each of this.#open) if (!each.destroyed) left += 1;
    if (left > this.#maxConnections) socket.destroy();
  }
}

function keyOf({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}
