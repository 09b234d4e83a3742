import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressBlock } from '../http/request/address-block.ts';

interface Connection {
  readonly key: string;
  /** The accepted socket. With TLS, the first request replaces it with the TLS socket, on which requests arrive. */
  socket: Socket;
  /**
   * The response to the last request; undefined before the first request, and again some seconds after the response was
   * sent.
   */
  response: ServerResponse | undefined;
  /** The number of the last request on this connection. Requests are numbered over all connections. */
  order: number;
  /**
   * The client's IPv4 address, or the /64 network of its IPv6 address; empty for a connection that has no limit by
   * address.
   */
  readonly address: string;
  /**
   * True for a connection that does not count in `#unknown`: it has carried a request with a valid credential, or it is
   * closed, or `maxUnknownPerAddress` does not limit it, because it comes from a proxy or the limit is infinite.
   */
  isKnown: boolean;
  /**
   * True if, when this connection was accepted, its address had too many connections that had not carried a valid
   * credential. Becomes false at the first request that arrives while the address is within the limit.
   */
  isExcess: boolean;
}

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** The maximum number of connections of one address that have not carried a request with a valid credential. */
  readonly maxUnknownPerAddress: number;
  /** Returns true for the address of a proxy, whose connections have requests of many clients. */
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
    /**
     * The connection of a socket. It is a property of the socket because each request reads it, and a lookup in a
     * WeakMap takes several times as long.
     */
    [heard]?: Connection;
  }
}

/**
 * The maximum number of connections that one scan selects for closing, to make room for new connections. A scan visits
 * all connections, and sorts the idle ones and those whose request is still arriving.
 */
const foundAtOnce = 64;

/**
 * The connections of a server. Beyond the limit, a new connection replaces the oldest connection that has sent no
 * request. If there is none, it replaces the idle connection whose last request is the oldest. A connection is idle
 * from its last response until the headers of its next request are complete. If there is no idle connection either, it
 * replaces the one whose current request has been arriving for longest. So silent or slow clients do not keep others
 * out. A connection whose request is being handled is never replaced. If every connection has such a request, the new
 * connection is closed. All connections are visited only every few seconds ({@link forgetSent}), and when a new
 * connection arrives while the table is full.
 */
export class ConnectionTable {
  /**
   * True once the server stops. Then requests that read or write objects, and requests to plugins, get 503, and every
   * request ends its connection.
   */
  isStopping = false;
  readonly #limits: ConnectionLimits;
  /**
   * The open connections, oldest first, by {@link keyOf}. The socket cannot be the key, because with TLS the accepted
   * socket and the socket of the requests are different objects.
   */
  readonly #open = new Map<string, Connection>();
  /** The connections that have sent no request yet, oldest first. */
  readonly #silent = new Set<Connection>();
  /**
   * The connections that {@link #makeRoom} closes next, the last entry first. Each entry keeps the `order` that its
   * connection had when it was selected. If the connection has another `order` by now, a new request has arrived on it,
   * and the connection is skipped.
   */
  #found: { readonly connection: Connection; readonly order: number }[] = [];
  #requests = 0;
  /** For each address, the number of connections that have not carried a request with a valid credential. */
  readonly #unknown = new Map<string, number>();

  /** `limits` are the limits of the table. Default: no limits. */
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

  /**
   * Called when the headers of a request have arrived. Returns false when this connection exceeded the limit of its
   * address when it was accepted, and the address still exceeds the limit.
   */
  hear(response: ServerResponse): boolean {
    const { socket } = response.req;
    const connection = socket[heard] ?? this.#hearFirst(socket);
    if (connection === undefined) return true;
    connection.response = response;
    connection.order = this.#requests += 1;
    if (!connection.isExcess) return true;
    // The limit is checked again, because other connections of the address may have been closed, or may have sent a
    // valid credential, since this connection was accepted.
    connection.isExcess = (this.#unknown.get(connection.address) ?? 0) > this.#limits.maxUnknownPerAddress;
    return !connection.isExcess;
  }

  /**
   * Returns true when a client cannot mistake a refusal of malformed data for the response to an earlier request: all
   * responses on the connection were sent, or the last request is still arriving, and its response has not begun.
   */
  isRefusable(socket: Socket): boolean {
    const response = socket[heard]?.response;
    if (response === undefined || isSent(response)) return true;
    return response.socket !== null && !response.req.complete && !response.headersSent;
  }

  /**
   * Called when a request with a valid credential has arrived on this connection. From then on, the connection does not
   * count toward the limit of its address.
   */
  know(socket: Socket): void {
    const connection = socket[heard];
    if (connection === undefined || connection.isKnown) return;
    connection.isKnown = true;
    this.#countUnknown(connection.address, -1);
  }

  /** Drops references to responses that were sent. Called every few seconds. */
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
      // Since the scan, the connection may have been closed, or may have sent another request.
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
 * Returns true while the server handles a request that has arrived completely, and while the response waits until an
 * earlier response on the same connection is sent. A waiting response has no socket.
 */
function isAnswered({ response }: Connection): boolean {
  return response !== undefined && !isSent(response) && (response.socket === null || response.req.complete);
}

function keyOf({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}
