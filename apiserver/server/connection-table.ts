import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The connections of a server. Beyond its limit, a new connection takes the place of the oldest that has sent no request, then of
 * those that wait for their next request, then of the oldest whose request is still arriving: clients that are silent or slow
 * do not keep others out.
 */
export class ConnectionTable {
  readonly #maxConnections: number;
  readonly #closeIdle: () => void;
  readonly #open = new Set<Socket>();
  /** Those that have sent no request, oldest first, by {@link keyOf}: TLS has another socket than the connection under it. */
  readonly #silent = new Map<string, Socket>();
  readonly #heard = new WeakSet<Socket>();
  /** Those whose request has a body that is not here yet, oldest first. */
  readonly #arriving = new Set<Socket>();

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

  /** The head of a request has come. */
  hear(request: IncomingMessage): void {
    const { socket, headers } = request;
    if (!this.#heard.has(socket)) {
      this.#heard.add(socket);
      this.#silent.delete(keyOf(socket));
    }
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
    this.#arriving.add(socket);
    request.once('close', () => this.#arriving.delete(socket));
  }

  #makeRoom(socket: Socket): void {
    const [silent] = this.#silent;
    if (silent !== undefined) {
      this.#silent.delete(silent[0]);
      silent[1].destroy();
      return;
    }
    this.#closeIdle();
    if (this.#live() <= this.#maxConnections) return;
    const [arriving = socket] = this.#arriving;
    this.#arriving.delete(arriving);
    arriving.destroy();
  }

  #live(): number {
    let live = 0;
    for (const { destroyed } of this.#open) if (!destroyed) live += 1;
    return live;
  }
}

function keyOf({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}
