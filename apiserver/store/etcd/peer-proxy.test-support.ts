import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

interface Link {
  readonly sockets: readonly [Socket, Socket];
  /** The id of the member that has connected, in hexadecimal; undefined if its request does not contain an id. */
  from: string | undefined;
}

/**
 * A TCP proxy in front of the port on which a member accepts other members. The first request of a connection tells the
 * proxy which member has connected.
 */
export class PeerProxy {
  /** Returns true for the id of a member whose connections are closed as soon as data arrive on them. */
  isCut: (from: string | undefined) => boolean = () => false;
  /** The delay of each piece of data, in each direction. */
  delayMs: () => number = () => 0;
  readonly #listener: Server;
  readonly #links = new Set<Link>();

  private constructor(targetPort: number) {
    this.#listener = createServer((client) => this.#accept(client, connect(targetPort, '127.0.0.1')));
  }

  static async start(targetPort: number): Promise<PeerProxy> {
    const proxy = new PeerProxy(targetPort);
    proxy.#listener.listen(0, '127.0.0.1');
    await once(proxy.#listener, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  /** Closes the connections of the members for which {@link isCut} returns true. */
  cut(): void {
    for (const link of this.#links) if (this.isCut(link.from)) for (const socket of link.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.isCut = () => true;
    this.cut();
    this.#listener.close();
    await once(this.#listener, 'close');
  }

  #accept(client: Socket, server: Socket): void {
    const link: Link = { sockets: [client, server], from: undefined };
    this.#links.add(link);
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        this.#links.delete(link);
        other.destroy();
      });
      const pass = this.#passer(other);
      socket.on('data', (data: Buffer) => {
        link.from ??= /X-Server-From: ([0-9a-f]+)/.exec(data.toString('latin1'))?.[1];
        if (this.isCut(link.from)) socket.destroy();
        else pass(data);
      });
    }
  }

  /** Returns a function that writes data in order, each piece after its delay. */
  #passer(to: Socket): (data: Buffer) => void {
    let lastMs = 0;
    return (data) => {
      const delayMs = this.delayMs();
      const nowMs = performance.now();
      lastMs = Math.max(lastMs, nowMs + delayMs);
      if (delayMs === 0 && lastMs <= nowMs) to.write(data);
      else setTimeout(() => to.writable && to.write(data), lastMs - nowMs);
    };
  }
}
