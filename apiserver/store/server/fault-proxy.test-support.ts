import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * A fault for bytes that a client sends.
 * - `pass`: no fault; the server receives the bytes
 * - `cut`: both connections are closed, and the server never receives the bytes
 * - `cutAfterAnswer`: the server receives the bytes and responds, but the connections are closed before the client
 *   receives the response
 * - `swallow`: the server never receives the bytes, and the client gets no error
 * - `orphan`: only the connection of the client is closed; the server receives the bytes when
 *   {@link FaultProxy.release} is called
 */
export type Fault = 'pass' | 'cut' | 'cutAfterAnswer' | 'swallow' | 'orphan';

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  /**
   * True when the proxy is to close the connections to the client and the server at the end of the server's response.
   */
  isCutAtAnswer: boolean;
}

/**
 * Returns true when the received bytes complete a response. Called for each piece of data that the server sends on one
 * connection, in order. A piece may begin or end inside a response.
 */
export type FindAnswer = (received: Buffer) => boolean;

interface Target {
  readonly host: string;
  readonly port: number;
  /**
   * Makes, for each new connection, the function that decides when a response of the server is complete. By default,
   * any bytes that the server sends complete a response.
   */
  readonly findAnswer?: () => FindAnswer;
}

/** A TCP proxy in front of a database server. It injects faults. */
export class FaultProxy {
  /** Returns the fault for a piece of data. Called for all data that clients send. */
  faultOf: (sent: Buffer) => Fault = () => 'pass';
  /** True when the proxy closes each new connection immediately. */
  isDown = false;
  readonly #listener: Server;
  readonly #links = new Set<Link>();
  readonly #orphans: { readonly server: Socket; readonly sent: Buffer }[] = [];

  private constructor({ host, port, findAnswer = () => () => true }: Target) {
    this.#listener = createServer((client) => this.#accept(client, connect({ host, port }), findAnswer()));
  }

  static async start(target: Target): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
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

  /** Sets a fault for the next bytes that contain the text; when it happens, calls `then`. All other bytes pass. */
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

  /** Sends to the server the bytes that `orphan` faults have held back. */
  release(): void {
    for (const { server, sent } of this.#orphans.splice(0)) server.end(sent);
  }

  async close(): Promise<void> {
    this.cutAll();
    for (const { server } of this.#orphans.splice(0)) server.destroy();
    this.#listener.close();
    await once(this.#listener, 'close');
  }

  #accept(client: Socket, server: Socket, isAnswer: FindAnswer): void {
    const link: Link = { client, server, isCutAtAnswer: false };
    this.#links.add(link);
    for (const socket of [client, server]) {
      // Errors are expected here. When one side resets its connection, the connection of the other side must be closed.
      socket.on('error', () => this.#cut(link));
      socket.on('close', () => this.#links.delete(link));
    }
    if (this.isDown) return this.#cut(link);
    client.on('data', (sent) => this.#send(link, sent));
    client.on('end', () => server.end());
    server.on('data', (received) => {
      const isAnswered = isAnswer(received);
      if (!link.isCutAtAnswer) client.write(received);
      else if (isAnswered) this.#cut(link);
    });
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
        link.isCutAtAnswer = true;
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
