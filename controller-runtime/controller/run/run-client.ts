import {
  applyMergePatch,
  deepEqual,
  formatKey,
  isConflict,
  parseKey,
  type ApiObject,
  type Model,
  type NewObject,
  type ObjectKey,
  type ObjectList,
  type WatchEvent,
} from '../../api/index.ts';
import type { Informer, InformerOptions } from '../../client/informer.ts';
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
  RequestOptions,
  StatusOf,
  WatchOptions,
  WriteOptions,
} from '../../client/client.ts';
import { linkAbort } from '../../client/abort.ts';
import { inSpan, type SpanOptions } from '../../telemetry/tracing.ts';
import { idOf, targetIn, targetOf, type CacheView, type Target } from './cache-view.ts';
import type { OwnRevisions } from './own-revisions.ts';

/** The object that a conflict was about, and the revision that the write built on; `0` when it named none. */
export interface ConflictSource {
  readonly target: Target;
  readonly revision: string;
}

export interface RunClientParts {
  readonly client: Client;
  /** The id of the run, where it has one. */
  readonly reconcileID?: string;
  /** The run's: requests that have no signal of their own end with it. */
  readonly abort: Pick<AbortController, 'signal'>;
  readonly view: CacheView;
  readonly statusWrites: OwnRevisions;
  /** The kind whose status writes are followed: that of the controller. */
  readonly ownKindId: string;
}

/** A watch that a run opened. */
interface RunWatch {
  readonly stop: AbortController;
  readonly unlink: () => void;
}

const noWatches: readonly RunWatch[] = [];

/** Resolves when no write is under way any more. */
interface Quiet {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

/** Whose client it is. */
export interface ClientOwner {
  /** Returns what a request is rejected with that comes after the end. Not made before it is needed: an error is dear. */
  lateError(): Error;
}

/**
 * The client of one run. It keeps what the run wrote, so that the controller reads its own writes, and knows which
 * status changes are its own; and it remembers which object a conflict was about. It ends with the run: what a forgotten
 * `await` asks for later would otherwise be written beside the next run.
 */
export class RunClient implements Client {
  readonly #parts: RunClientParts;
  readonly #client: Client;
  readonly #view: CacheView;
  #conflicts: WeakMap<object, ConflictSource> | undefined;
  #inFlight = 0;
  #watches: readonly RunWatch[] = noWatches;
  #ended: ClientOwner | undefined;
  #quiet: Quiet | undefined;

  constructor(parts: RunClientParts) {
    this.#parts = parts;
    this.#client = parts.client;
    this.#view = parts.view;
  }

  /**
   * Ends the watches, and refuses all further requests. Resolves when the writes under way have settled; undefined when
   * there are none. May be called again: each call returns the same promise.
   */
  end(owner: ClientOwner): Promise<void> | undefined {
    this.#ended = owner;
    if (this.#watches.length > 0) this.#endWatches();
    return this.#inFlight === 0 ? undefined : (this.#quiet ??= makeQuiet()).promise;
  }

  /** What a conflict that this client rejected with was about; undefined for any other error. */
  conflictSource(error: unknown): ConflictSource | undefined {
    return typeof error === 'object' && error !== null ? this.#conflicts?.get(error) : undefined;
  }

  get<T extends ApiObject>(model: Model<T>, name: string, options?: GetOptions): Promise<T> {
    return this.#read(() => this.#client.get(model, name, this.#bound(options)));
  }

  list<T extends ApiObject>(model: Model<T>, options?: ListOptions): Promise<ObjectList<T>> {
    return this.#read(() => this.#client.list(model, this.#bound(options)));
  }

  watch<T extends ApiObject>(model: Model<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>> {
    this.#checkOpen();
    const { signal, ...bound } = this.#bound(options);
    const stop = new AbortController();
    const unlink = linkAbort(stop, signal);
    this.#watches = [...this.#watches, { stop, unlink }];
    return this.#client.watch(model, { ...bound, signal: stop.signal });
  }

  informer<T extends ApiObject>(model: Model<T>, options?: InformerOptions<T>): Informer<T> {
    return this.#client.informer(model, options);
  }

  create<T extends ApiObject>(model: Model<T>, object: NewObject<T>, options?: WriteOptions): Promise<T> {
    const target = targetIn(model, { name: object.metadata.name ?? '', namespace: object.metadata.namespace });
    return this.#write(target, options, () => this.#client.create(model, object, this.#bound(options)));
  }

  update<T extends ApiObject>(object: T, options?: WriteOptions): Promise<T> {
    const source = sourceOf(object);
    const send = (): Promise<T> =>
      this.#write(source, options, () => this.#client.update(object, this.#bound(options)));
    return options?.dryRun === true ? send() : this.#statusWrite(source.target, send, statusOf(object));
  }

  updateStatus<T extends ApiObject>(object: T, status: StatusOf<T>, options?: WriteOptions): Promise<T> {
    const source = sourceOf(object);
    const send = (): Promise<T> =>
      this.#write(source, options, () => this.#client.updateStatus(object, status, this.#bound(options)));
    return options?.dryRun === true ? send() : this.#statusWrite(source.target, send, status);
  }

  patch<T extends ApiObject>(model: Model<T>, name: string, patch: Patch, options?: PatchOptions): Promise<T> {
    const target = targetIn(model, { name, namespace: options?.namespace });
    const source = { target, revision: options?.preconditions?.resourceVersion ?? preconditionOf(patch) };
    const send = (): Promise<T> =>
      this.#write(source, options, () => this.#client.patch(model, name, patch, this.#bound(options)));
    if (patch.type !== 'merge' || options?.subresource !== 'status' || options.dryRun === true) return send();
    const present = this.#view.read(target);
    return this.#statusWrite(target, send, statusOf(applyMergePatch({ status: statusOf(present) }, patch.patch)));
  }

  apply<T extends ApiObject>(model: Model<T>, object: AppliedObject<T>, options: ApplyOptions): Promise<T> {
    const { name, namespace = options.namespace, resourceVersion: revision = '0' } = object.metadata;
    const target = targetIn(model, { name, namespace });
    const send = (): Promise<T> =>
      this.#write({ target, revision }, options, () => this.#client.apply(model, object, this.#bound(options)));
    if (options.subresource !== 'status' || options.dryRun === true) return send();
    const present = this.#view.read(target);
    return this.#statusWrite(target, send, statusOf(applyMergePatch({ status: statusOf(present) }, object)));
  }

  delete<T extends ApiObject>(model: Model<T>, name: string, options?: DeleteOptions): Promise<T | undefined> {
    const target = targetIn(model, { name, namespace: options?.namespace });
    const source = { target, revision: options?.preconditions?.resourceVersion ?? '0' };
    return this.#write(source, options, () => this.#client.delete(model, name, this.#bound(options)));
  }

  ensure<T extends ApiObject>(
    model: Model<T>,
    key: string | ObjectKey,
    desired: Desired<T>,
    options?: WriteOptions,
  ): Promise<T> {
    const target = targetIn(model, typeof key === 'string' ? parseKey(key) : key);
    return this.#write(target, options, () => this.#client.ensure(model, key, desired, this.#bound(options)));
  }

  #bound<O extends RequestOptions>(options: O | undefined): O & { readonly signal: AbortSignal } {
    const { abort, reconcileID } = this.#parts;
    const { signal } = abort;
    // Own fields before the spread: see CONTRIBUTING.md.
    const bound = reconcileID === undefined ? { signal, ...options } : { signal, reconcileID, ...options };
    return bound as O & { readonly signal: AbortSignal };
  }

  #read<R>(send: () => Promise<R>): Promise<R> {
    return this.#ended === undefined ? send() : Promise.reject(this.#ended.lateError());
  }

  #endWatches(): void {
    for (const { stop, unlink } of this.#watches) {
      unlink();
      stop.abort();
    }
    this.#watches = noWatches;
  }

  #checkOpen(): void {
    if (this.#ended !== undefined) throw this.#ended.lateError();
  }

  async #write<R extends ApiObject | undefined>(
    about: Target | ConflictSource,
    options: WriteOptions | undefined,
    send: () => Promise<R>,
  ): Promise<R> {
    const { target, revision } = 'target' in about ? about : { target: about, revision: '0' };
    this.#checkOpen();
    this.#inFlight += 1;
    try {
      const span = (): SpanOptions => ({
        name: `write ${target.kindId}`,
        kind: 'client',
        attributes: { 'homeostat.key': formatKey(target.key) },
      });
      const result = await inSpan(span, send);
      if (options?.dryRun === true) return result;
      if (result === undefined) this.#view.recordGone(target);
      else this.#view.record(result);
      return result;
    } catch (error) {
      if (isConflict(error)) (this.#conflicts ??= new WeakMap()).set(error as object, { target, revision });
      throw error;
    } finally {
      this.#inFlight -= 1;
      if (this.#inFlight === 0) this.#quiet?.resolve();
    }
  }

  /** Ours alone only when the status came out as we wanted it: otherwise somebody else had a part in it. */
  #statusWrite<T extends ApiObject>(target: Target, send: () => Promise<T>, wanted: unknown): Promise<T> {
    const { statusWrites, ownKindId } = this.#parts;
    // Events of other kinds are not judged by who wrote them, and would leave these records for ever.
    if (target.kindId !== ownKindId) return send();
    return statusWrites.write(idOf(target), send, (result) =>
      deepEqual(statusOf(result) ?? {}, wanted ?? {}) ? result.metadata.resourceVersion : undefined,
    );
  }
}

function makeQuiet(): Quiet {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** A merge patch names its precondition, if any, in its metadata. */
function preconditionOf(patch: Patch): string {
  const metadata: unknown = patch.type === 'merge' ? Reflect.get(patch.patch, 'metadata') : undefined;
  const revision: unknown =
    typeof metadata === 'object' && metadata !== null ? Reflect.get(metadata, 'resourceVersion') : '';
  return typeof revision === 'string' && revision !== '' ? revision : '0';
}

function sourceOf(object: ApiObject): ConflictSource {
  return { target: targetOf(object), revision: object.metadata.resourceVersion ?? '0' };
}

function statusOf(object: unknown): unknown {
  return typeof object === 'object' && object !== null ? Reflect.get(object, 'status') : undefined;
}
