import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * The fate of bytes that a client sends:
 * - `pass`: they go to the server
 * - `cut`: both sides are cut, and the server never sees them
 * - `cutAfterAnswer`: the server sees them and responds, but the client never gets the response
 * - `swallow`: the server never sees them, and the client gets no error
 * - `orphan`: the client is cut; the server keeps waiting, and gets them with {@link FaultProxy.release}
 */
export type Fault = 'pass' | 'cut' | 'cutAfterAnswer' | 'swallow' | 'orphan';

interface Link {
  readonly client: Socket;
  readonly server: Socket;
}

/** A TCP proxy in front of a database server, which injects faults. */
export class FaultProxy {
  /** Called for all data that a client sends. */
  faultOf: (sent: Buffer) => Fault = () => 'pass';
  /** True when new connections are refused. */
  isDown = false;
  readonly #listener: Server;
  readonly #links = new Set<Link>();
  readonly #orphans: { readonly server: Socket; readonly sent: Buffer }[] = [];

  private constructor(target: { readonly host: string; readonly port: number }) {
    this.#listener = createServer((client) => this.#accept(client, connect(target)));
  }

  static async start(target: { readonly host: string; readonly port: number }): Promise<FaultProxy> {
    const proxy = new FaultProxy({ host: target.host, port: target.port });
    proxy.#listener.listen(0, '127.0.0.1');
    await once(proxy.#listener, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  /** The number of open connections. */
  get connections(): number {
    return this.#links.size;
  }

  /** From now on, the first bytes that contain the text have the fault, and `then` is called. All others pass. */
  breakAt(text: string, fault: Fault, then?: () => void): void {
    this.faultOf = (sent) => {
      if (!sent.includes(text)) return 'pass';
      this.faultOf = () => 'pass';
      then?.();
      return fault;
    };
  }

  cutAll(): void {
    for (const { client, server } of this.#links) {
      client.destroy();
      server.destroy();
    }
  }

  /** Sends the delayed data of orphans to the server. */
  release(): void {
    for (const { server, sent } of this.#orphans.splice(0)) server.end(sent);
  }

  async close(): Promise<void> {
    this.cutAll();
    for (const { server } of this.#orphans.splice(0)) server.destroy();
    this.#listener.close();
    await once(this.#listener, 'close');
  }

  #accept(client: Socket, server: Socket): void {
    const link = { client, server };
    this.#links.add(link);
    for (const socket of [client, server]) {
      // Errors are expected here; when one side resets the connection, the other one must learn it.
      socket.on('error', () => this.#cut(link));
      socket.on('close', () => this.#links.delete(link));
    }
    if (this.isDown) return this.#cut(link);
    client.on('data', (sent) => this.#send(link, sent));
    client.on('end', () => server.end());
    server.on('data', (answer) => client.write(answer));
    server.on('end', () => client.end());
  }

  #send(link: Link, sent: Buffer): void {
    const { client, server } = link;
    switch (this.faultOf(sent)) {
      case 'pass':
        server.write(sent);
        return;
      case 'swallow':
        return;
      case 'cut':
        this.#cut(link);
        return;
      case 'cutAfterAnswer':
        server.removeAllListeners('data');
        server.once('data', () => this.#cut(link));
        server.write(sent);
        return;
      case 'orphan':
        client.removeAllListeners('end');
        this.#orphans.push({ server, sent });
        client.destroy();
        return;
    }
  }

  #cut({ client, server }: Link): void {
    client.destroy();
    server.destroy();
  }
}
