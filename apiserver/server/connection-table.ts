import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressBlock } from '../http/request/address-block.ts';

interface Connection {
  readonly key: string;
  /** The socket on which requests arrive: with TLS, not the socket that was accepted. */
  socket: Socket;
  /**
   * The last request's response. undefined before the first request, and from some seconds after the response was sent.
   */
  response: ServerResponse | undefined;
  /** The number of the last request, counted over all connections. */
  order: number;
  /** The client's address, or its network. */
  readonly address: string;
  /** True once a request has arrived with a valid credential, and for connections that are not limited by address. */
  isKnown: boolean;
  /** True when its address had too many unknown connections already. */
  isExcess: boolean;
}

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** The maximum number of connections of one address on which no request with a valid credential has arrived. */
  readonly maxUnknownPerAddress: number;
  /** True for the address of a proxy, whose connections have many clients. */
  readonly isProxy: (address: string) => boolean;
}

const noLimits: ConnectionLimits = {
  maxConnections: Number.POSITIVE_INFINITY,
  maxUnknownPerAddress: Number.POSITIVE_INFINITY,
  isProxy: () => false,
};

const heard: unique symbol = Symbol('the connection on which a request has arrived');

declare module 'node:net' {
  interface Socket {
    /** A property, because each request reads it, and a lookup in a weak map takes several times as long. */
    [heard]?: Connection;
  }
}

/** The number of connections found in one scan, which visits and sorts all of them. */
const foundAtOnce = 64;

/**
 * The connections of a server. Beyond the limit, a new connection replaces the oldest one that has sent no request;
 * then the one that has waited longest for its next request (of which a part may have arrived); then the one whose
 * request has been arriving for longest. So silent or slow clients do not keep others out. A connection whose request
 * is being handled stays. A request costs one lookup and two assignments here; all other work is done when a new
 * connection finds the table full.
 */
export class ConnectionTable {
  /** True once the server stops: each request is then the last one of its connection, and is refused. */
  isStopping = false;
  readonly #limits: ConnectionLimits;
  /**
   * The open connections, oldest first. The key is that of {@link keyOf}, because TLS has another socket than the
   * connection below it.
   */
  readonly #open = new Map<string, Connection>();
  /** Connections that have sent no request, oldest first. */
  readonly #silent = new Set<Connection>();
  /**
   * The connections that are replaced next; the last entry is the first to be replaced. Each has the order that it had
   * when it was found.
   */
  #found: { readonly connection: Connection; readonly order: number }[] = [];
  #requests = 0;
  /** The number of unknown connections of each address. */
  readonly #unknown = new Map<string, number>();

  /** @param limits default: none */
  constructor(limits: Partial<ConnectionLimits> = {}) {
    this.#limits = { ...noLimits, ...limits };
  }

  add(socket: Socket): void {
    if (this.#open.size >= this.#limits.maxConnections && !this.#makeRoom()) {
      socket.destroy();
      return;
    }
    const connection = this.#connectionOf(socket);
    this.#open.set(connection.key, connection);
    this.#silent.add(connection);
    socket.once('close', () => this.#forget(connection));
  }

  /** Called when the head of a request has arrived. Returns false when its address has too many unknown connections. */
  hear(response: ServerResponse): boolean {
    const { socket } = response.req;
    const connection = socket[heard] ?? this.#hearFirst(socket);
    if (connection === undefined) return true;
    connection.response = response;
    connection.order = this.#requests += 1;
    if (!connection.isExcess) return true;
    // Other connections of the address may have become known, or closed, since this one was accepted.
    connection.isExcess = (this.#unknown.get(connection.address) ?? 0) > this.#limits.maxUnknownPerAddress;
    return !connection.isExcess;
  }

  /** Called when a request with a valid credential has arrived. */
  know(socket: Socket): void {
    const connection = socket[heard];
    if (connection === undefined || connection.isKnown) return;
    connection.isKnown = true;
    this.#countUnknown(connection.address, -1);
  }

  /** Drops references to responses that were sent; called every few seconds. */
  forgetSent(): void {
    for (const connection of this.#open.values()) if (isSent(connection.response)) connection.response = undefined;
  }

  #connectionOf(socket: Socket): Connection {
    const { maxUnknownPerAddress, isProxy } = this.#limits;
    const remote = socket.remoteAddress ?? '';
    const isKnown = maxUnknownPerAddress === Number.POSITIVE_INFINITY || isProxy(remote);
    const address = isKnown ? '' : addressBlock(remote);
    const isExcess = !isKnown && this.#countUnknown(address, 1) > maxUnknownPerAddress;
    return { key: keyOf(socket), socket, response: undefined, order: 0, address, isKnown, isExcess };
  }

  #countUnknown(address: string, change: number): number {
    const count = (this.#unknown.get(address) ?? 0) + change;
    if (count === 0) this.#unknown.delete(address);
    else this.#unknown.set(address, count);
    return count;
  }

  #hearFirst(socket: Socket): Connection | undefined {
    const connection = this.#open.get(keyOf(socket));
    if (connection === undefined) return undefined;
    connection.socket = socket;
    this.#silent.delete(connection);
    socket[heard] = connection;
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
    if (connection.isKnown) return;
    connection.isKnown = true;
    this.#countUnknown(connection.address, -1);
  }

  #nextFound(): Connection | undefined {
    for (let found = this.#found.pop(); found !== undefined; found = this.#found.pop()) {
      const { connection, order } = found;
      // The connection may have been closed, or may have sent another request.
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

/**
 * True while a complete request is being handled. A response without a socket waits behind another one of its
 * connection.
 */
function isAnswered({ response }: Connection): boolean {
  return response !== undefined && !isSent(response) && (response.socket === null || response.req.complete);
}

function keyOf({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}
