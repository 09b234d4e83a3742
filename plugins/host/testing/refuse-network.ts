import { AsyncLocalStorage } from 'node:async_hooks';
import { Socket } from 'node:net';

/** A request or a connection that the work of {@link withoutNetwork} has tried to make. */
export interface ExternalCall {
  /**
   * The method and URL, or the address, such as `GET https://cloud.example.com/machines` or `connect
   * db.example.com:5432`.
   */
  readonly call: string;
  /** The number of times that the code tried to make this request or connection. */
  readonly count: number;
}

export interface NetworkOptions {
  /** The function that is called as `fetch`. Default: each request is refused. */
  readonly fetch?: typeof fetch;
}

interface Guard extends NetworkOptions {
  readonly counts: Map<string, number>;
}

/** The guard of code that {@link withoutNetwork} runs; undefined for all other code of the process. */
const guards = new AsyncLocalStorage<Guard>();
let isInstalled = false;

/**
 * Runs the work without a network: each connection that the work opens, and each request that it sends with `fetch`,
 * fails with an error that names the address or the URL. If `fetch` is given, requests go to that function instead.
 * Does not affect other code of the process, or programs that the work starts.
 */
export async function withoutNetwork<T>(
  options: NetworkOptions,
  work: (calls: () => readonly ExternalCall[]) => Promise<T>,
): Promise<T> {
  install();
  const guard: Guard = { ...options, counts: new Map() };
  return guards.run(guard, async () => work(() => [...guard.counts].map(([call, count]) => ({ call, count }))));
}

/**
 * Replaces `fetch` and `Socket.prototype.connect`, once in a process. The new functions refuse only the calls of code
 * that {@link withoutNetwork} runs.
 */
function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  const { fetch: send } = globalThis;
  globalThis.fetch = async (input, init) => {
    const guard = guards.getStore();
    if (guard === undefined) return send(input, init);
    const { method, url } = new Request(input, init);
    const refused = refuse(guard, `${method} ${withoutSecrets(url)}`);
    if (guard.fetch === undefined) throw refused;
    return guard.fetch(input, init);
  };
  const connect: unknown = Reflect.get(Socket.prototype, 'connect');
  if (!isConnect(connect)) throw new TypeError('this Node has no Socket.prototype.connect');
  Object.defineProperty(Socket.prototype, 'connect', {
    configurable: true,
    writable: true,
    value: function connectUnlessRefused(this: Socket, ...to: unknown[]): Socket {
      const guard = guards.getStore();
      if (guard === undefined) return connect.apply(this, to);
      const refused = refuse(guard, `connect ${placeOf(to)}`);
      process.nextTick(() => this.destroy(refused));
      return this;
    },
  });
}

function isConnect(value: unknown): value is (this: Socket, ...to: unknown[]) => Socket {
  return typeof value === 'function';
}

function refuse({ counts }: Guard, call: string): Error {
  counts.set(call, (counts.get(call) ?? 0) + 1);
  return new Error(`a plan makes no external calls: ${call}`);
}

/** Returns a URL without its query and user, which may be secret. */
function withoutSecrets(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/**
 * Returns the address in the arguments of connect: options, a list that begins with options, a path, or a port and a
 * host.
 */
function placeOf([first, second]: readonly unknown[]): string {
  const to: unknown = Array.isArray(first) ? first[0] : first;
  if (typeof to === 'object') {
    const { host, port, path } = { host: 'localhost', port: undefined, path: undefined, ...to };
    return typeof path === 'string' ? path : `${host}:${String(port)}`;
  }
  const host = typeof second === 'string' ? second : 'localhost';
  return typeof to === 'number' || typeof to === 'string' ? `${host}:${to}` : host;
}
