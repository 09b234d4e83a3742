import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

interface Connection {
  readonly key: string;
  /** The one that requests come over: with TLS, not the one that was accepted. */
  socket: Socket;
  /** The response to the last request. undefined before the first, and some seconds after the last was sent. */
  response: ServerResponse | undefined;
  /** Number of the last request, over all connections. */
  order: number;
}

/** Those found in one look. A look goes over all connections, and sorts them. */
const foundAtOnce = 64;

/**
 * The connections of a server. Beyond its limit, a new connection takes the place of the oldest that has sent no request, then of
 * the one that has waited longest for its next request (a part of it may have come), then of the one whose request has been
 * arriving for longest: clients that are silent or slow do not keep others out. A connection whose request is being answered
 * stays. A request costs a lookup and two assignments here; all else is done when a new connection finds the table full.
 */
export class ConnectionTable {
  readonly #maxConnections: number;
  /** Oldest first, by {@link keyOf}: TLS has another socket than the connection under it. */
  readonly #open = new Map<string, Connection>();
  /** Those that have sent no request, oldest first. */
  readonly #silent = new Set<Connection>();
  readonly #heard = new WeakMap<Socket, Connection>();
  /** Those to give way next, the first at the end, each with its order when it was found. */
  #found: { readonly connection: Connection; readonly order: number }[] = [];
  #requests = 0;

  constructor(maxConnections: number) {
    this.#maxConnections = maxConnections;
  }

  add(socket: Socket): void {
    if (this.#open.size >= this.#maxConnections && !this.#makeRoom()) {
      socket.destroy();
      return;
    }
    const connection: Connection = { key: keyOf(socket), socket, response: undefined, order: 0 };
    this.#open.set(connection.key, connection);
    this.#silent.add(connection);
    socket.once('close', () => this.#forget(connection));
  }

  /** The head of a request has come. */
  hear(response: ServerResponse): void {
    const connection = this.#heard.get(response.req.socket) ?? this.#hearFirst(response.req.socket);
    if (connection === undefined) return;
    connection.response = response;
    connection.order = this.#requests += 1;
  }

  /** Lets go of responses that were sent; called every few seconds. */
  forgetSent(): void {
    for (const connection of this.#open.values()) if (isSent(connection.response)) connection.response = undefined;
  }

  #hearFirst(socket: Socket): Connection | undefined {
    const connection = this.#open.get(keyOf(socket));
    if (connection === undefined) return undefined;
    connection.socket = socket;
    this.#silent.delete(connection);
    this.#heard.set(socket, connection);
    return connection;
  }

  #makeRoom(): boolean {
    const [silent] = this.#silent;
    const connection = silent ?? this.#nextFound();
    if (connection === undefined) return false;
    this.#forget(connection);
    connection.socket.destroy();
    return true;
  }

  #forget(connection: Connection): void {
    if (this.#open.get(connection.key) === connection) this.#open.delete(connection.key);
    this.#silent.delete(connection);
  }

  #nextFound(): Connection | undefined {
    for (let found = this.#found.pop(); found !== undefined; found = this.#found.pop()) {
      const { connection, order } = found;
      // It may have gone, or have sent another request.
      const isSame = this.#open.get(connection.key) === connection && connection.order === order;
      if (isSame && !isAnswered(connection)) return connection;
    }
    this.#look();
    return this.#found.pop()?.connection;
  }

  #look(): void {
    const idle: Connection[] = [];
    const arriving: Connection[] = [];
    for (const connection of this.#open.values()) {
      if (isSent(connection.response)) idle.push(connection);
      else if (!isAnswered(connection)) arriving.push(connection);
    }
    this.#found = [...idle.sort(byOrder), ...arriving.sort(byOrder)]
      .slice(0, foundAtOnce)
      .reverse()
      .map((connection) => ({ connection, order: connection.order }));
  }
}

function byOrder(a: Connection, b: Connection): number {
  return a.order - b.order;
}

function isSent(response: ServerResponse | undefined): boolean {
  return response === undefined || response.writableFinished || response.closed;
}

/** True while a whole request is being answered. A response without a socket waits behind another one of its connection. */
function isAnswered({ response }: Connection): boolean {
  return response !== undefined && !isSent(response) && (response.socket === null || response.req.complete);
}

function keyOf({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}
