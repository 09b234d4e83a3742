import { isFormerLeader } from '../api/index.ts';
import type { ApiObject, LeaderEpoch, Model, NewObject, ObjectKey, ObjectList, WatchEvent } from '../api/index.ts';
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
} from '../client/client.ts';
import type { Informer, InformerOptions } from '../client/informer.ts';
import type { Term } from './term.ts';

/**
 * A client whose writes carry the leader's term: the server refuses them once the term is over, whoever finds out first.
 * The first refusal ends the term here as well, and from then on nothing is sent.
 */
export class LeaderClient implements Client {
  readonly #client: Client;
  readonly #term: Term;

  constructor(client: Client, term: Term) {
    this.#client = client;
    this.#term = term;
  }

  get<T extends ApiObject>(model: Model<T>, name: string, options?: GetOptions): Promise<T> {
    return this.#client.get(model, name, options);
  }

  list<T extends ApiObject>(model: Model<T>, options?: ListOptions): Promise<ObjectList<T>> {
    return this.#client.list(model, options);
  }

  watch<T extends ApiObject>(model: Model<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>> {
    return this.#client.watch(model, options);
  }

  informer<T extends ApiObject>(model: Model<T>, options?: InformerOptions<T>): Informer<T> {
    return this.#client.informer(model, options);
  }

  create<T extends ApiObject>(model: Model<T>, object: NewObject<T>, options?: WriteOptions): Promise<T> {
    return this.#write(options, (bound) => this.#client.create(model, object, bound));
  }

  update<T extends ApiObject>(object: T, options?: WriteOptions): Promise<T> {
    return this.#write(options, (bound) => this.#client.update(object, bound));
  }

  updateStatus<T extends ApiObject>(object: T, status: StatusOf<T>, options?: WriteOptions): Promise<T> {
    return this.#write(options, (bound) => this.#client.updateStatus(object, status, bound));
  }

  patch<T extends ApiObject>(model: Model<T>, name: string, patch: Patch, options?: PatchOptions): Promise<T> {
    return this.#write(options, (bound) => this.#client.patch(model, name, patch, bound));
  }

  apply<T extends ApiObject>(model: Model<T>, object: AppliedObject<T>, options: ApplyOptions): Promise<T> {
    return this.#write(options, (bound) => this.#client.apply(model, object, bound));
  }

  delete<T extends ApiObject>(model: Model<T>, name: string, options?: DeleteOptions): Promise<T | undefined> {
    return this.#write(options, (bound) => this.#client.delete(model, name, bound));
  }

  ensure<T extends ApiObject>(
    model: Model<T>,
    key: string | ObjectKey,
    desired: Desired<T>,
    options?: WriteOptions,
  ): Promise<T> {
    return this.#write(options, (bound) => this.#client.ensure(model, key, desired, bound));
  }

  /** The leader last: it is nothing that a reconciler decides. */
  async #write<O extends WriteOptions, R>(
    options: O | undefined,
    send: (options: O & { readonly leader: LeaderEpoch }) => Promise<R>,
  ): Promise<R> {
    this.#term.check();
    try {
      return await send({ ...options, leader: this.#term.epoch } as O & { readonly leader: LeaderEpoch });
    } catch (error) {
      if (isFormerLeader(error)) this.#term.end('the server refused a write', error);
      throw error;
    }
  }
}
