import { apiVersionOf, silentLogger } from '../api/index.ts';
import type { ApiObject, Clock, Logger, Model, NewObject, ObjectKey, ObjectList, WatchEvent } from '../api/index.ts';
import type { Informer, InformerOptions } from '../cache/informer.ts';
import { createInformer } from '../cache/list-watch-informer.ts';
import { systemClock } from '../clock/system-clock.ts';
import type {
  Client,
  DeleteOptions,
  Desired,
  GetOptions,
  ListOptions,
  Patch,
  PatchOptions,
  StatusOf,
  WatchOptions,
  WriteOptions,
} from './client.ts';
import { ensureObject } from './ensure.ts';
import { freezeDeep } from './freeze-deep.ts';
import { HttpTransport } from './http-transport.ts';
import type { HttpRequest } from './http-transport.ts';
import { watchOverHttp } from './http-watch.ts';
import { listEverything } from './list-everything.ts';
import { ModelResolver } from './model-resolver.ts';
import { getQuery, listQuery, writeQuery } from './query.ts';
import { collectionPath, creationPath, objectPath } from './resource-path.ts';

export interface HttpClientOptions {
  /** Sent with each request. Default none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Bearer token. Over plain HTTP anyone on the way can read it. Default none. */
  readonly token?: string;
  /** How long one request may take, answer included; of a watch, until its headers. Default 30,000 ms. */
  readonly requestTimeoutMs?: number;
  /** A watch on which no byte came for so long is resumed. Default 120,000 ms: twice the interval of bookmarks. */
  readonly watchSilenceMs?: number;
  /** Kinds that update and updateStatus need not look up. Those of other verbs' calls are added. Default none. */
  readonly models?: readonly Model[];
  /** Default Node's own. One with a dispatcher or agent of its own brings certificates and proxies. */
  readonly fetch?: typeof fetch;
  /** Default the real time. */
  readonly clock?: Clock;
  /** Hears of the server's warnings and of interrupted watches. Default silent. */
  readonly logger?: Logger;
  /** Jitter, in [0, 1). Default Math.random. */
  readonly random?: () => number;
}

/**
 * A client of the server at `url` (`https://host:port`, a path in front of `/apis` is kept). Opens nothing until it is
 * used and has nothing to close: what runs ends with its signal.
 * No write is sent twice, but for 429 and 503 with Retry-After (at most 10 times, each at most 60 s later; reads alike)
 * and for what `ensure` says. Throws TypeError when the URL is none, RangeError when a time is not above 0.
 */
export function createClient(url: string, options: HttpClientOptions = {}): Client {
  return new HttpClient(url, options);
}

type Services = Required<Pick<HttpClientOptions, 'clock' | 'logger' | 'random' | 'watchSilenceMs'>>;

class HttpClient implements Client {
  readonly #services: Services;
  readonly #transport: HttpTransport;
  readonly #models: ModelResolver;
  readonly #informers = new Map<string, Informer<ApiObject>>();

  constructor(url: string, options: HttpClientOptions) {
    const { clock = systemClock, logger = silentLogger, random = Math.random } = options;
    const { requestTimeoutMs = 30_000, watchSilenceMs = 120_000, fetch = globalThis.fetch } = options;
    checkPositive({ requestTimeoutMs, watchSilenceMs });
    const authorization = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` };
    const headers = { ...options.headers, ...authorization };
    this.#services = { clock, logger, random, watchSilenceMs };
    this.#transport = new HttpTransport({ url, headers, requestTimeoutMs, fetch, clock, logger });
    this.#models = new ModelResolver(this.#transport);
    for (const model of options.models ?? []) this.#models.remember(model);
  }

  async get<T extends ApiObject>(model: Model<T>, name: string, options: GetOptions = {}): Promise<T> {
    const path = objectPath(this.#models.remember(model), { name, namespace: options.namespace });
    return this.#send({ method: 'GET', path, query: getQuery(options), signal: options.signal });
  }

  async list<T extends ApiObject>(model: Model<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    const path = collectionPath(this.#models.remember(model), options.namespace);
    return this.#send({ method: 'GET', path, query: listQuery(options), signal: options.signal });
  }

  async create<T extends ApiObject>(model: Model<T>, object: NewObject<T>, options: WriteOptions = {}): Promise<T> {
    const descriptor = this.#models.remember(model);
    const path = creationPath(descriptor, options.namespace ?? object.metadata.namespace);
    const body = { apiVersion: apiVersionOf(descriptor), kind: descriptor.kind, ...object };
    return this.#send({ method: 'POST', path, body, query: writeQuery(options), signal: options.signal });
  }

  async update<T extends ApiObject>(object: T, options: WriteOptions = {}): Promise<T> {
    return this.#put(object, { body: object, options });
  }

  async updateStatus<T extends ApiObject>(object: T, status: StatusOf<T>, options: WriteOptions = {}): Promise<T> {
    const { apiVersion, kind } = object;
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const body = { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion }, status };
    return this.#put(object, { body, options, subresource: 'status' });
  }

  async patch<T extends ApiObject>(
    model: Model<T>,
    name: string,
    patch: Patch,
    options: PatchOptions = {},
  ): Promise<T> {
    const { namespace, subresource, signal } = options;
    const path = objectPath(this.#models.remember(model), { name, namespace, subresource });
    const body = patch.type === 'json' ? patch.operations : patch.patch;
    const contentType = `application/${patch.type}-patch+json`;
    return this.#send({ method: 'PATCH', path, body, contentType, query: writeQuery(options), signal });
  }

  async delete<T extends ApiObject>(
    model: Model<T>,
    name: string,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    const { namespace, dryRun, preconditions, propagationPolicy, signal } = options;
    const path = objectPath(this.#models.remember(model), { name, namespace });
    // Where there is a body Kubernetes does not look at the query: dryRun goes into both, lest it be overlooked.
    const body = {
      ...{ apiVersion: 'v1', kind: 'DeleteOptions', preconditions, propagationPolicy },
      ...(dryRun === true ? { dryRun: ['All'] } : {}),
    };
    const answer = await this.#send<ApiObject>({ method: 'DELETE', path, body, query: writeQuery(options), signal });
    return answer.kind === 'Status' && answer.apiVersion === 'v1' ? undefined : (answer as T);
  }

  async ensure<T extends ApiObject>(
    model: Model<T>,
    key: string | ObjectKey,
    desired: Desired<T>,
    options: WriteOptions = {},
  ): Promise<T> {
    return ensureObject(this, model, { key, desired, options });
  }

  watch<T extends ApiObject>(model: Model<T>, options: WatchOptions = {}): AsyncIterable<WatchEvent<T>> {
    const descriptor = this.#models.remember(model);
    const { watchSilenceMs: silenceMs, ...services } = this.#services;
    const { allowBookmarks: _allow, sendInitialEvents: _send, ...selection } = options;
    const { resourceVersion } = options;
    const match =
      resourceVersion === undefined || resourceVersion === '0'
        ? {}
        : ({ resourceVersionMatch: 'NotOlderThan' } as const);
    const source = {
      ...{ transport: this.#transport, path: collectionPath(descriptor, options.namespace), ...services, silenceMs },
      ...{ apiVersion: apiVersionOf(descriptor), kind: descriptor.kind },
      list: (signal: AbortSignal) => listEverything(this, model, { ...selection, ...match, signal }),
    };
    return watchOverHttp(source, options);
  }

  informer<T extends ApiObject>(model: Model<T>, options: InformerOptions = {}): Informer<T> {
    const { group, version, plural } = this.#models.remember(model);
    const { namespace, labelSelector, fieldSelector } = options;
    const key = JSON.stringify([group, version, plural, namespace, labelSelector, fieldSelector]);
    const { clock, logger, random } = this.#services;
    const present = this.#informers.get(key);
    // The key names the kind, hence the type.
    if (present !== undefined) return present as Informer<ApiObject> as Informer<T>;
    const informer = createInformer({ client: this, model, selection: options, clock, logger, random });
    this.#informers.set(key, informer as Informer<ApiObject>);
    return informer;
  }

  async #put<T extends ApiObject>(object: T, request: PutRequest): Promise<T> {
    const { body, options, subresource } = request;
    const resource = await this.#models.resolve(object, options.signal);
    const { name, namespace = options.namespace } = object.metadata;
    const path = objectPath(resource, { name, namespace, subresource });
    return this.#send({ method: 'PUT', path, body, query: writeQuery(options), signal: options.signal });
  }

  async #send<A extends object>(request: HttpRequest): Promise<A> {
    return freezeDeep((await this.#transport.send(request)) as A);
  }
}

interface PutRequest {
  readonly body: object;
  readonly options: WriteOptions;
  readonly subresource?: 'status';
}

function checkPositive(times: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(times)) {
    if (!(value > 0)) throw new RangeError(`${name} must be above 0, is ${value}`);
  }
}
