import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** Stands between a replica and its database. */
export class DatabaseProxy {
  readonly #target: URL;
  readonly #server: Server;
  readonly #links = new Set<{ readonly client: Socket; readonly database: Socket }>();
  #state: 'up' | 'down' | 'stalled' = 'up';

  private constructor(target: URL) {
    this.#target = target;
    this.#server = createServer((client) => this.#connect(client));
  }

  static async start(targetUrl: string): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(new URL(targetUrl));
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** The database's URL, through here. */
  get url(): string {
    const url = new URL(this.#target);
    url.host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return url.href;
  }

  /** The ports by which the database knows these connections. */
  get ports(): number[] {
    return [...this.#links].flatMap(({ database }) => database.localPort ?? []);
  }

  /** Cuts all connections, and takes no other, until {@link up}. */
  down(): void {
    this.#state = 'down';
    for (const { client, database } of this.#links) {
      client.destroy();
      database.destroy();
    }
  }

  /** Passes nothing on, in either direction, and keeps the connections; until {@link up}. */
  stall(): void {
    this.#state = 'stalled';
    this.#eachSocket((socket) => socket.pause());
  }

  up(): void {
    this.#state = 'up';
    this.#eachSocket((socket) => socket.resume());
  }

  async close(): Promise<void> {
    this.down();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #connect(client: Socket): void {
    if (this.#state === 'down') {
      client.destroy();
      return;
    }
    const database = connect({ host: this.#target.hostname, port: Number(this.#target.port || 5432) });
    const link = { client, database };
    this.#links.add(link);
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      from.on('data', (data) => to.write(data));
      from.on('error', () => from.destroy());
      from.on('close', () => {
        this.#links.delete(link);
        to.destroy();
      });
      if (this.#state === 'stalled') from.pause();
    }
  }

  #eachSocket(action: (socket: Socket) => void): void {
    for (const { client, database } of this.#links) {
      action(client);
      action(database);
    }
  }
}
