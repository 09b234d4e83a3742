import type { ApiObject, Model, NewObject, ObjectKey, ObjectList, WatchEvent } from '../api/index.ts';
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
} from './client.ts';
import type { Informer, InformerOptions } from './informer.ts';

/** A call of `get` or `list`, with its arguments except the options. */
export type ReadCall =
  | { readonly verb: 'get'; readonly model: Model; readonly name: string }
  | { readonly verb: 'list'; readonly model: Model };

/** A call of a verb that writes, with its arguments except the options. */
export type WriteCall =
  | {
      readonly verb: 'create' | 'apply';
      readonly model: Model;
      readonly object: { readonly metadata: Partial<ApiObject['metadata']> };
    }
  | { readonly verb: 'update'; readonly object: ApiObject }
  | { readonly verb: 'updateStatus'; readonly object: ApiObject; readonly status: unknown }
  | { readonly verb: 'patch'; readonly model: Model; readonly name: string; readonly patch: Patch }
  | { readonly verb: 'delete'; readonly model: Model; readonly name: string }
  | { readonly verb: 'ensure'; readonly model: Model; readonly key: string | ObjectKey };

/** The options of all verbs that write. Each verb accepts some of these options. */
export type AnyWriteOptions = WriteOptions & Pick<PatchOptions, 'subresource' | 'preconditions'>;

/**
 * A client that passes every call on to another client: `get` and `list` through {@link ForwardingClient.read}, writes
 * through {@link ForwardingClient.write}. Subclasses override these two methods. Watches and informers are passed on
 * directly.
 */
export abstract class ForwardingClient implements Client {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  get<T extends ApiObject>(model: Model<T>, name: string, options?: GetOptions): Promise<T> {
    return this.read({ verb: 'get', model, name }, options, (sent) => this.#client.get(model, name, sent));
  }

  list<T extends ApiObject>(model: Model<T>, options?: ListOptions): Promise<ObjectList<T>> {
    return this.read({ verb: 'list', model }, options, (sent) => this.#client.list(model, sent));
  }

  watch<T extends ApiObject>(model: Model<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>> {
    return this.#client.watch(model, options);
  }

  informer<T extends ApiObject>(model: Model<T>, options?: InformerOptions<T>): Informer<T> {
    return this.#client.informer(model, options);
  }

  create<T extends ApiObject>(model: Model<T>, object: NewObject<T>, options?: WriteOptions): Promise<T> {
    return this.write({ verb: 'create', model, object }, options, (sent) => this.#client.create(model, object, sent));
  }

  update<T extends ApiObject>(object: T, options?: WriteOptions): Promise<T> {
    return this.write({ verb: 'update', object }, options, (sent) => this.#client.update(object, sent));
  }

  updateStatus<T extends ApiObject>(object: T, status: StatusOf<T>, options?: WriteOptions): Promise<T> {
    const call = { verb: 'updateStatus', object, status } as const;
    return this.write(call, options, (sent) => this.#client.updateStatus(object, status, sent));
  }

  patch<T extends ApiObject>(model: Model<T>, name: string, patch: Patch, options?: PatchOptions): Promise<T> {
    const call = { verb: 'patch', model, name, patch } as const;
    return this.write(call, options, (sent) => this.#client.patch(model, name, patch, sent));
  }

  apply<T extends ApiObject>(model: Model<T>, object: AppliedObject<T>, options: ApplyOptions): Promise<T> {
    return this.write({ verb: 'apply', model, object }, options, (sent) => this.#client.apply(model, object, sent));
  }

  delete<T extends ApiObject>(model: Model<T>, name: string, options?: DeleteOptions): Promise<T | undefined> {
    return this.write({ verb: 'delete', model, name }, options, (sent) => this.#client.delete(model, name, sent));
  }

  ensure<T extends ApiObject>(
    model: Model<T>,
    key: string | ObjectKey,
    desired: Desired<T>,
    options?: WriteOptions,
  ): Promise<T> {
    return this.write({ verb: 'ensure', model, key }, options, (sent) =>
      this.#client.ensure(model, key, desired, sent),
    );
  }

  /**
   * Called for every `get` and `list`. `send` forwards the call to the wrapped client, with the options that are passed
   * to `send`. A subclass may pass other options than `options`.
   */
  protected read<O extends NamespaceOptions | undefined, R>(
    _call: ReadCall,
    options: O,
    send: (options: O) => Promise<R>,
  ): Promise<R> {
    return send(options);
  }

  /**
   * Called for every write. `send` forwards the call to the wrapped client, with the options that are passed to `send`.
   * A subclass may pass other options than `options`.
   */
  protected write<O extends AnyWriteOptions | undefined, R extends ApiObject | undefined>(
    _call: WriteCall,
    options: O,
    send: (options: O) => Promise<R>,
  ): Promise<R> {
    return send(options);
  }
}
