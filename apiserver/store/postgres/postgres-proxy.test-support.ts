import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/**
 * A fault at a COMMIT. The client sends each COMMIT together with the statements of its batch.
 * - `before`: the connection ends before the server receives the COMMIT
 * - `after`: the connection ends when the server's response arrives; the response is not passed on
 * - `late`: the client's connection ends, and the server receives the COMMIT when {@link PostgresProxy.releaseCommit}
 *   is called
 */
export type CommitFault = 'before' | 'after' | 'late';

/**
 * The bytes of `COMMIT` as a simple query, and of the tag in its response:
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
const commitMessage = Buffer.from('Q\0\0\0\x0bCOMMIT\0', 'latin1');
const commitAnswer = Buffer.from('C\0\0\0\x0bCOMMIT\0', 'latin1');

/** A proxy between a store and its server. It breaks connections at a COMMIT. */
export class PostgresProxy {
  readonly #server: Server;
  readonly #target: URL;
  readonly #sockets = new Set<Socket>();
  #faults: CommitFault[] = [];
  #isDown = false;
  #releaseCommit: (() => void) | undefined;

  private constructor(target: URL) {
    this.#target = target;
    this.#server = createServer((client) => this.#serve(client));
  }

  static async start(targetUrl: string): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(new URL(targetUrl));
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** The URL of the server through this proxy. */
  get url(): string {
    const url = new URL(this.#target);
    url.host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return url.href;
  }

  /** Sets the faults of the next batches, one for each batch. */
  failCommit(...faults: readonly CommitFault[]): void {
    this.#faults = [...faults];
  }

  /** True when all faults have happened. */
  get hasFailed(): boolean {
    return this.#faults.length === 0;
  }

  releaseCommit(): void {
    this.#releaseCommit?.();
  }

  /** Closes all connections, and refuses new ones until {@link up} is called. */
  down(): void {
    this.#isDown = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Refuses new connections; open ones continue. */
  refuse(): void {
    this.#isDown = true;
  }

  up(): void {
    this.#isDown = false;
  }

  async close(): Promise<void> {
    this.down();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(client: Socket): void {
    if (this.#isDown) {
      client.destroy();
      return;
    }
    const server = connect({ host: this.#target.hostname, port: Number(this.#target.port || 5432) });
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
    }
    let isHeld = false;
    client.on('data', (data) => {
      const at = data.indexOf(commitMessage);
      if (at <= 0 || this.hasFailed) server.write(data);
      else if (this.#faults[0] === 'after') {
        isHeld = true;
        server.write(data);
      } else this.#cut(client, server, { sent: data.subarray(0, at), held: data.subarray(at) });
    });
    server.on('data', (data) => {
      if (!isHeld) client.write(data);
      else if (data.includes(commitAnswer)) {
        this.#faults.shift();
        client.destroy();
      }
    });
    client.on('close', () => this.#releaseCommit === undefined && server.destroy());
    server.on('close', () => client.destroy());
  }

  #cut(client: Socket, server: Socket, data: { readonly sent: Buffer; readonly held: Buffer }): void {
    if (this.#faults.shift() === 'late') {
      this.#releaseCommit = () => {
        if (!server.destroyed) server.write(data.held);
        this.#releaseCommit = undefined;
      };
    }
    server.write(data.sent, () => client.destroy());
  }
}
