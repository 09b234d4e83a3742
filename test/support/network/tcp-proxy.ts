import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { freePort } from './free-port.ts';

interface Link {
  readonly client: Socket;
  readonly server: Socket;
}

/** A proxy between a client and its server that can simulate network faults. */
export class TcpProxy {
  readonly #target: URL;
  readonly #defaultPort: number;
  /** The port of the proxy. It does not change, because clients continue to use it. */
  readonly #port: number;
  readonly #listener: Server;
  readonly #links = new Set<Link>();
  /** Sockets of connections that stay open, but transfer no more data. */
  readonly #dead = new Set<Socket>();
  #state: 'up' | 'down' | 'stalled' = 'up';
  #answer: string | undefined;
  /** The number of further bytes that clients receive before all connections are cut. */
  #bytesLeft = Number.POSITIVE_INFINITY;

  private constructor(target: URL, ports: { readonly default: number; readonly own: number }) {
    this.#target = target;
    this.#defaultPort = ports.default;
    this.#port = ports.own;
    this.#listener = createServer((client) => this.#accept(client));
  }

  /** Starts a proxy. `defaultPort` is the port of the target when its URL has no port. */
  static async start(targetUrl: string, defaultPort: number = 80): Promise<TcpProxy> {
    const proxy = new TcpProxy(new URL(targetUrl), { default: defaultPort, own: await freePort() });
    await proxy.listen();
    return proxy;
  }

  /** The URL of the target, but with the host and port of the proxy. */
  get url(): string {
    const url = new URL(this.#target);
    url.host = `127.0.0.1:${this.#port}`;
    return url.href;
  }

  /** The local ports of the connections to the server. The server sees them as the ports of its clients. */
  get ports(): number[] {
    return [...this.#links].flatMap(({ server }) => server.localPort ?? []);
  }

  /** Cuts all connections, and each new connection at once, until {@link up}. */
  down(): void {
    this.#state = 'down';
    this.#cutAll();
  }

  /** Cuts all connections, and stops listening until {@link listen}. */
  refuse(): void {
    this.#cutAll();
    // close() stops listening at once, but emits its event only after all connections have ended.
    this.#listener.close();
  }

  /** Accepts connections again, if the proxy has stopped listening. */
  async listen(): Promise<void> {
    if (this.#listener.listening) return;
    this.#listener.listen(this.#port, '127.0.0.1');
    await once(this.#listener, 'listening');
  }

  /** Transfers no data in either direction until {@link up}, and keeps the connections open. */
  stall(): void {
    this.#state = 'stalled';
    this.#eachSocket((socket) => socket.pause());
  }

  /** Stops all data on the present connections forever without closing them. New connections work. */
  deaden(): void {
    for (const link of this.#links) {
      this.#links.delete(link);
      for (const socket of [link.client, link.server]) {
        socket.pause();
        this.#dead.add(socket);
      }
    }
  }

  /** Transfers the given number of further bytes to clients, and then cuts all connections once. */
  cutAfter(bytes: number): void {
    this.#bytesLeft = bytes;
  }

  /**
   * Cuts all connections. Until {@link up}, sends the given text on each new connection when data arrives, and ends the
   * connection.
   */
  answer(text: string): void {
    this.#answer = text;
    this.#cutAll();
  }

  up(): void {
    this.#state = 'up';
    this.#answer = undefined;
    this.#bytesLeft = Number.POSITIVE_INFINITY;
    this.#eachSocket((socket) => socket.resume());
  }

  async close(): Promise<void> {
    this.down();
    for (const socket of this.#dead) socket.destroy();
    if (!this.#listener.listening) return;
    this.#listener.close();
    await once(this.#listener, 'close');
  }

  #accept(client: Socket): void {
    if (this.#state === 'down') {
      client.destroy();
      return;
    }
    const server = connect({ host: this.#target.hostname, port: Number(this.#target.port || this.#defaultPort) });
    const link = { client, server };
    this.#links.add(link);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on('error', () => from.destroy());
      from.on('close', () => {
        this.#links.delete(link);
        to.destroy();
      });
      if (this.#state === 'stalled') from.pause();
    }
    client.on('data', (data) => {
      if (this.#answer === undefined) server.write(data);
      else client.end(this.#answer);
    });
    server.on('data', (data) => this.#toClient(client, data));
  }

  #toClient(client: Socket, data: Buffer): void {
    if (data.length < this.#bytesLeft) {
      this.#bytesLeft -= data.length;
      client.write(data);
      return;
    }
    // end() sends the last permitted bytes from the buffer; destroy() would not.
    client.end(data.subarray(0, this.#bytesLeft));
    this.#bytesLeft = Number.POSITIVE_INFINITY;
    for (const link of this.#links) if (link.client !== client) this.#cut(link);
  }

  #cutAll(): void {
    for (const link of this.#links) this.#cut(link);
  }

  #cut({ client, server }: Link): void {
    client.destroy();
    server.destroy();
  }

  #eachSocket(action: (socket: Socket) => void): void {
    for (const { client, server } of this.#links) {
      action(client);
      action(server);
    }
  }
}
