import { apiVersionOf, descriptorOf, silentLogger } from '../../api/index.ts';
import type { ApiObject, Clock, Logger, Model, ObjectKey, ObjectList, WatchEvent } from '../../api/index.ts';
import { shareInformers } from '../../cache/shared-informers.ts';
import type {
  Client,
  Desired,
  ListOptions,
  NamespaceOptions,
  WatchOptions,
  WriteOptions,
} from '../../client/client.ts';
import { ensureObject } from '../../client/ensure.ts';
import { ForwardingClient } from '../../client/forwarding-client.ts';
import type { AnyWriteOptions, ReadCall, WriteCall } from '../../client/forwarding-client.ts';
import type { Informer, InformerOptions } from '../../client/informer.ts';

/** One request of a client. `ensure` is not a request: it consists of the requests get, create and update. */
export interface ClientRequest {
  readonly verb: 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'apply' | 'delete';
  readonly apiVersion: string;
  readonly kind: string;
  /** The name of the object; absent for lists and watches, and for an object whose name the server generates. */
  readonly name?: string;
  readonly namespace?: string;
  readonly subresource?: 'status';
  /** The id of the controller run that makes the request, if there is one. */
  readonly reconcileID?: string;
  /** True for a list or watch of an informer. */
  readonly isForCache: boolean;
  /** True for a request that stores something if it succeeds: neither a read nor a dry run. */
  readonly isWrite: boolean;
}

/** Receives each request of a client, and may pass it on to the client that executes it. */
export interface Interceptor {
  request<R>(request: ClientRequest, send: () => Promise<R>): Promise<R>;
  watch<T extends ApiObject>(
    request: ClientRequest,
    open: (signal: AbortSignal) => AsyncIterable<WatchEvent<T>>,
    signal: AbortSignal | undefined,
  ): AsyncIterable<WatchEvent<T>>;
}

export interface InterceptedClientParts {
  /** The client that executes the requests. */
  readonly client: Client;
  readonly interceptor: Interceptor;
  readonly clock: Clock;
  /** Returns a number in [0, 1) for the jitter of the informers. */
  readonly random: () => number;
  readonly logger?: Logger;
}

/**
 * A client that passes all requests to an interceptor, including those of its informers, which have caches of their
 * own.
 */
export class InterceptedClient extends ForwardingClient {
  readonly #client: Client;
  readonly #interceptor: Interceptor;
  readonly #informer: Client['informer'];

  constructor({ client, interceptor, clock, random, logger = silentLogger }: InterceptedClientParts) {
    super(client);
    this.#client = client;
    this.#interceptor = interceptor;
    const reads = {
      list: <T extends ApiObject>(model: Model<T>, options?: ListOptions): Promise<ObjectList<T>> => {
        const request = { ...requestOf('list', kindOf(model), {}, options), isForCache: true };
        return interceptor.request(request, () => client.list(model, options));
      },
      watch: <T extends ApiObject>(model: Model<T>, options?: WatchOptions) => this.#watch(model, options, true),
    };
    this.#informer = shareInformers({ client: reads, metadataClient: reads, clock, logger, random });
  }

  override informer<T extends ApiObject>(model: Model<T>, options?: InformerOptions<T>): Informer<T> {
    return this.#informer(model, options);
  }

  override watch<T extends ApiObject>(model: Model<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>> {
    return this.#watch(model, options, false);
  }

  override ensure<T extends ApiObject>(
    model: Model<T>,
    key: string | ObjectKey,
    desired: Desired<T>,
    options?: WriteOptions,
  ): Promise<T> {
    return ensureObject(this, model, { key, desired, options });
  }

  protected override read<O extends NamespaceOptions | undefined, R>(
    call: ReadCall,
    options: O,
    send: (options: O) => Promise<R>,
  ): Promise<R> {
    const name = call.verb === 'get' ? { name: call.name } : {};
    return this.#interceptor.request(requestOf(call.verb, kindOf(call.model), name, options), () => send(options));
  }

  protected override write<O extends AnyWriteOptions | undefined, R extends ApiObject | undefined>(
    call: WriteCall,
    options: O,
    send: (options: O) => Promise<R>,
  ): Promise<R> {
    return this.#interceptor.request(writeRequestOf(call, options), () => send(options));
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

function writeRequestOf(call: WriteCall, options: AnyWriteOptions | undefined): ClientRequest {
  switch (call.verb) {
    case 'update':
      return requestOf('update', call.object, call.object.metadata, options);
    case 'updateStatus':
      return requestOf('update', call.object, call.object.metadata, { ...options, subresource: 'status' });
    case 'create':
    case 'apply':
      return requestOf(call.verb, kindOf(call.model), call.object.metadata, options);
    case 'patch':
    case 'delete':
      return requestOf(call.verb, kindOf(call.model), call, options);
    case 'ensure':
      throw new Error('the method ensure is not a request: it sends several requests');
  }
}

type AnyOptions = NamespaceOptions & Pick<AnyWriteOptions, 'dryRun' | 'subresource'>;

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

/** Describes a request for people: `patch status of Person ada`. */
export function describeRequest({ verb, kind, name, namespace, subresource }: ClientRequest): string {
  const part = subresource === undefined ? '' : `${subresource} of `;
  const object = [namespace, name].filter((each) => each !== undefined).join('/');
  return `${verb} ${part}${kind}${object === '' ? '' : ` ${object}`}`;
}
