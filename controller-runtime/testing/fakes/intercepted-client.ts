import { apiVersionOf, descriptorOf, keyOf, silentLogger } from '../../api/index.ts';
import type { ApiObject, Clock, Logger, Model, NewObject, ObjectKey, ObjectList, WatchEvent } from '../../api/index.ts';
import { shareInformers } from '../../cache/shared-informers.ts';
import type {
  AppliedObject,
  ApplyOptions,
  Client,
  DeleteOptions,
  Desired,
  GetOptions,
  ListOptions,
  NamespaceOptions,
  Patch,
  PatchOptions,
  StatusOf,
  WatchOptions,
  WriteOptions,
} from '../../client/client.ts';
import { ensureObject } from '../../client/ensure.ts';

/** One request of a client. `ensure` is none: it is the get, create and update that it makes. */
export interface ClientRequest {
  readonly verb: 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'apply' | 'delete';
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent for lists and watches, and for an object whose name the server makes. */
  readonly name?: string;
  readonly namespace?: string;
  readonly subresource?: 'status';
  /** The run of a controller that asks, where one does. */
  readonly reconcileID?: string;
  /** A list or watch of an informer, for its cache. */
  readonly isForCache: boolean;
  /** Stores something, unless it fails: neither a read nor a dry run. */
  readonly isWrite: boolean;
}

/** Stands between a client and what carries its requests out. */
export interface Interceptor {
  request<R>(request: ClientRequest, send: () => Promise<R>): Promise<R>;
  watch<T extends ApiObject>(
    request: ClientRequest,
    open: (signal: AbortSignal) => AsyncIterable<WatchEvent<T>>,
    signal: AbortSignal | undefined,
  ): AsyncIterable<WatchEvent<T>>;
}

export interface InterceptedClientParts {
  /** Carries requests out. */
  readonly client: Client;
  readonly interceptor: Interceptor;
  readonly clock: Clock;
  /** Jitter of its informers, in [0, 1). */
  readonly random: () => number;
  readonly logger?: Logger;
}

/** A client whose requests all pass an interceptor, those of its informers too: these have caches of their own. */
export class InterceptedClient implements Client {
  readonly informer: Client['informer'];
  readonly #client: Client;
  readonly #interceptor: Interceptor;

  constructor({ client, interceptor, clock, random, logger = silentLogger }: InterceptedClientParts) {
    this.#client = client;
    this.#interceptor = interceptor;
    const reads = {
      list: <T extends ApiObject>(model: Model<T>, options?: ListOptions) => this.#list(model, options, true),
      watch: <T extends ApiObject>(model: Model<T>, options?: WatchOptions) => this.#watch(model, options, true),
    };
    this.informer = shareInformers({ client: reads, metadataClient: reads, clock, logger, random });
  }

  get<T extends ApiObject>(model: Model<T>, name: string, options?: GetOptions): Promise<T> {
    const request = requestOf('get', kindOf(model), { name }, options);
    return this.#interceptor.request(request, () => this.#client.get(model, name, options));
  }

  list<T extends ApiObject>(model: Model<T>, options?: ListOptions): Promise<ObjectList<T>> {
    return this.#list(model, options, false);
  }

  watch<T extends ApiObject>(model: Model<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>> {
    return this.#watch(model, options, false);
  }

  create<T extends ApiObject>(model: Model<T>, object: NewObject<T>, options?: WriteOptions): Promise<T> {
    const request = requestOf('create', kindOf(model), object.metadata, options);
    return this.#interceptor.request(request, () => this.#client.create(model, object, options));
  }

  update<T extends ApiObject>(object: T, options?: WriteOptions): Promise<T> {
    const request = requestOf('update', object, keyOf(object), options);
    return this.#interceptor.request(request, () => this.#client.update(object, options));
  }

  updateStatus<T extends ApiObject>(object: T, status: StatusOf<T>, options?: WriteOptions): Promise<T> {
    const request = requestOf('update', object, keyOf(object), { ...options, subresource: 'status' });
    return this.#interceptor.request(request, () => this.#client.updateStatus(object, status, options));
  }

  patch<T extends ApiObject>(model: Model<T>, name: string, patch: Patch, options?: PatchOptions): Promise<T> {
    const request = requestOf('patch', kindOf(model), { name }, options);
    return this.#interceptor.request(request, () => this.#client.patch(model, name, patch, options));
  }

  apply<T extends ApiObject>(model: Model<T>, object: AppliedObject<T>, options: ApplyOptions): Promise<T> {
    const request = requestOf('apply', kindOf(model), object.metadata, options);
    return this.#interceptor.request(request, () => this.#client.apply(model, object, options));
  }

  delete<T extends ApiObject>(model: Model<T>, name: string, options?: DeleteOptions): Promise<T | undefined> {
    const request = requestOf('delete', kindOf(model), { name }, options);
    return this.#interceptor.request(request, () => this.#client.delete(model, name, options));
  }

  ensure<T extends ApiObject>(
    model: Model<T>,
    key: string | ObjectKey,
    desired: Desired<T>,
    options?: WriteOptions,
  ): Promise<T> {
    return ensureObject(this, model, { key, desired, options });
  }

  #list<T extends ApiObject>(
    model: Model<T>,
    options: ListOptions | undefined,
    isForCache: boolean,
  ): Promise<ObjectList<T>> {
    const request = { ...requestOf('list', kindOf(model), {}, options), isForCache };
    return this.#interceptor.request(request, () => this.#client.list(model, options));
  }

  #watch<T extends ApiObject>(
    model: Model<T>,
    options: WatchOptions | undefined,
    isForCache: boolean,
  ): AsyncIterable<WatchEvent<T>> {
    const request = { ...requestOf('watch', kindOf(model), {}, options), isForCache };
    const open = (signal: AbortSignal): AsyncIterable<WatchEvent<T>> =>
      this.#client.watch(model, { ...options, signal });
    return this.#interceptor.watch(request, open, options?.signal);
  }
}

type AnyOptions = NamespaceOptions & Pick<PatchOptions, 'dryRun' | 'subresource'>;

function kindOf(model: Model): Pick<ApiObject, 'apiVersion' | 'kind'> {
  const descriptor = descriptorOf(model);
  return { apiVersion: apiVersionOf(descriptor), kind: descriptor.kind };
}

function requestOf(
  verb: ClientRequest['verb'],
  { apiVersion, kind }: Pick<ApiObject, 'apiVersion' | 'kind'>,
  { name, namespace: own }: { readonly name?: string | undefined; readonly namespace?: string | undefined },
  { namespace = own, subresource, reconcileID, dryRun }: AnyOptions = {},
): ClientRequest {
  const isRead = verb === 'get' || verb === 'list' || verb === 'watch';
  return {
    verb,
    apiVersion,
    kind,
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(subresource === undefined ? {} : { subresource }),
    ...(reconcileID === undefined ? {} : { reconcileID }),
    isForCache: false,
    isWrite: !isRead && dryRun !== true,
  };
}

/** For people: `patch status of Person ada`. */
export function describeRequest({ verb, kind, name, namespace, subresource }: ClientRequest): string {
  const part = subresource === undefined ? '' : `${subresource} of `;
  const object = [namespace, name].filter((each) => each !== undefined).join('/');
  return `${verb} ${part}${kind}${object === '' ? '' : ` ${object}`}`;
}
