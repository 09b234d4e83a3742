import { apiVersionOf, formatLeaderEpoch, leaderHeader } from '../api/index.ts';
import type { ApiObject, Clock, Logger, Model, NewObject, ObjectKey, ObjectList, WatchEvent } from '../api/index.ts';
import type {
  AppliedObject,
  ApplyOptions,
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
import type { HttpRequest, HttpTransport } from './http-transport.ts';
import { watchOverHttp } from './http-watch.ts';
import { listEverything } from './list-everything.ts';
import { ModelResolver } from './model-resolver.ts';
import { applyQuery, getQuery, listQuery, writeQuery } from './query.ts';
import { collectionPath, creationPath, objectPath } from './resource-path.ts';

export interface HttpClientParts {
  readonly transport: HttpTransport;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Jitter, in [0, 1). */
  readonly random: () => number;
  /** So long without a byte ends a watch's connection. */
  readonly silenceMs: number;
  /** Kinds that need no discovery. */
  readonly models: readonly Model[];
  /** Makes {@link Client.informer}: caches are built on clients, not the other way round. */
  readonly informersOf: (client: Client) => Client['informer'];
}

/** A Client over HTTP. */
export class HttpClient implements Client {
  readonly informer: Client['informer'];
  readonly #parts: HttpClientParts;
  readonly #transport: HttpTransport;
  readonly #models: ModelResolver;

  constructor(parts: HttpClientParts) {
    this.#parts = parts;
    this.#transport = parts.transport;
    this.#models = new ModelResolver(parts.transport);
    for (const model of parts.models) this.#models.remember(model);
    this.informer = parts.informersOf(this);
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
    const body = { apiVersion: apiVersionOf(descriptor), kind: descriptor.kind, ...(object as object) };
    return this.#send({ method: 'POST', path, body, ...writeParts(options) });
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
    const { namespace, subresource } = options;
    const path = objectPath(this.#models.remember(model), { name, namespace, subresource });
    const body = patch.type === 'json' ? patch.operations : patch.patch;
    const contentType = `application/${patch.type}-patch+json`;
    return this.#send({ method: 'PATCH', path, body, contentType, ...writeParts(options) });
  }

  async apply<T extends ApiObject>(model: Model<T>, object: AppliedObject<T>, options: ApplyOptions): Promise<T> {
    const descriptor = this.#models.remember(model);
    const { name, namespace = options.namespace } = object.metadata;
    const path = objectPath(descriptor, { name, namespace, subresource: options.subresource });
    const body = { apiVersion: apiVersionOf(descriptor), kind: descriptor.kind, ...(object as object) };
    const contentType = 'application/apply-patch+yaml';
    return this.#send({ method: 'PATCH', path, body, contentType, ...writeParts(options), query: applyQuery(options) });
  }

  async delete<T extends ApiObject>(
    model: Model<T>,
    name: string,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    const { namespace, dryRun, preconditions, propagationPolicy } = options;
    const path = objectPath(this.#models.remember(model), { name, namespace });
    // Where there is a body Kubernetes does not look at the query: dryRun goes into both, lest it be overlooked.
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions,
      propagationPolicy,
      ...(dryRun === true ? { dryRun: ['All'] } : {}),
    };
    const answer = await this.#send<ApiObject>({ method: 'DELETE', path, body, ...writeParts(options) });
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
    const { transport, clock, logger, random, silenceMs } = this.#parts;
    const { allowBookmarks: _allow, sendInitialEvents: _send, ...selection } = options;
    const everything = { ...selection, ...revisionMatch(options.resourceVersion) };
    const path = collectionPath(descriptor, options.namespace);
    const list = (signal: AbortSignal) => listEverything(this, model, { ...everything, signal });
    const kind = { apiVersion: apiVersionOf(descriptor), kind: descriptor.kind };
    return watchOverHttp({ transport, path, list, clock, logger, random, silenceMs, ...kind }, options);
  }

  async #put<T extends ApiObject>(object: T, request: PutRequest): Promise<T> {
    const { body, options, subresource } = request;
    const resource = await this.#models.resolve(object, options.signal);
    const { name, namespace = options.namespace } = object.metadata;
    const path = objectPath(resource, { name, namespace, subresource });
    return this.#send({ method: 'PUT', path, body, ...writeParts(options) });
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

/** What each write sends besides its object. */
function writeParts({ leader, ...options }: WriteOptions): Pick<HttpRequest, 'query' | 'signal' | 'headers'> {
  const headers = leader === undefined ? {} : { headers: { [leaderHeader]: formatLeaderEpoch(leader) } };
  return { query: writeQuery(options), signal: options.signal, ...headers };
}

/** A watch that begins with the present objects wants them as they are at its revision, or later. */
function revisionMatch(resourceVersion: string | undefined): Pick<ListOptions, 'resourceVersionMatch'> {
  return resourceVersion === undefined || resourceVersion === '0' ? {} : { resourceVersionMatch: 'NotOlderThan' };
}
