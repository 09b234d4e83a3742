import { applyMergePatch, deepEqual, formatKey, isApiError, isConflict, parseKey } from '../../api/index.ts';
import type { ApiObject, Model, WatchEvent } from '../../api/index.ts';
import { linkAbort } from '../../client/abort.ts';
import type { Client, NamespaceOptions, Patch, RequestOptions, WatchOptions } from '../../client/client.ts';
import { ForwardingClient } from '../../client/forwarding-client.ts';
import type { AnyWriteOptions, ReadCall, WriteCall } from '../../client/forwarding-client.ts';
import { inSpan, type SpanOptions } from '../../telemetry/tracing.ts';
import { idOf, targetIn, targetOf, type CacheView, type Target } from './cache-view.ts';
import type { OwnRevisions } from './own-revisions.ts';
import type { QuietWrites } from './quiet-writes.ts';
import { subresourceOf, WriteLog } from './write-log.ts';

/**
 * The object of a conflict, and the revision that was the write's precondition; `0` when the write had no such
 * precondition.
 */
export interface ConflictSource {
  readonly target: Target;
  readonly revision: string;
}

export interface RunClientParts {
  readonly client: Client;
  /** The id of the run, if it has one. */
  readonly reconcileID?: string;
  /** The source of the run's signal, with which requests without a signal of their own are sent. */
  readonly abort: Pick<AbortController, 'signal'>;
  readonly view: CacheView;
  readonly statusWrites: OwnRevisions;
  /** Remembers the runs' writes for the sources that ignore the controller's own writes. Default: no such source. */
  readonly quietWrites?: QuietWrites;
  /** The id of the controller's own kind, whose status writes are remembered. */
  readonly ownKindId: string;
  /** True to record the writes in {@link RunClient.writes}. Default false. */
  readonly logsWrites?: boolean;
}

/** A watch that a run opened. */
interface RunWatch {
  readonly stop: AbortController;
  readonly unlink: () => void;
}

const noWatches: readonly RunWatch[] = [];

/** A promise that resolves when no write is under way. */
interface Quiet {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

/** The run, or the call of a mapping, that a client belongs to. */
export interface ClientOwner {
  /**
   * Returns the error for requests after the end of the run. The error is created only when it is needed, because its
   * creation is expensive.
   */
  lateError(): Error;
}

/**
 * The client of one run. It remembers the writes of the run, so that the controller reads its own writes and recognizes
 * its own status changes. It also remembers the object of each conflict. It accepts no requests after the end of the
 * run; otherwise a write without an `await` could be sent during the next run.
 */
export class RunClient extends ForwardingClient {
  readonly #parts: RunClientParts;
  readonly #view: CacheView;
  #conflicts: WeakMap<object, ConflictSource> | undefined;
  #inFlight = 0;
  #lastWritten: ApiObject | undefined;
  #watches: readonly RunWatch[] = noWatches;
  #ended: ClientOwner | undefined;
  #quiet: Quiet | undefined;
  #writes: WriteLog | undefined;

  constructor(parts: RunClientParts) {
    super(parts.client);
    this.#parts = parts;
    this.#view = parts.view;
  }

  /**
   * Ends the watches, and refuses all further requests. Returns a promise that resolves when the writes under way have
   * settled, or undefined when there are none. It may be called several times: while writes are under way, each call
   * returns the same promise.
   */
  end(owner: ClientOwner): Promise<void> | undefined {
    this.#ended = owner;
    if (this.#watches.length > 0) this.#endWatches();
    return this.#inFlight === 0 ? undefined : (this.#quiet ??= makeQuiet()).promise;
  }

  /** The writes of the run; undefined when the run has not written, or when runs of its controller are not recorded. */
  get writes(): WriteLog | undefined {
    return this.#writes;
  }

  /**
   * Returns the result of the run's last write to the controller's own kind, if that write was a write of this object;
   * otherwise undefined.
   */
  lastWritten({ metadata: { uid } }: ApiObject): ApiObject | undefined {
    return this.#lastWritten?.metadata.uid === uid ? this.#lastWritten : undefined;
  }

  /**
   * For the error of a write of this client that failed with a conflict, returns the target of the write and the
   * revision that the write required (`0` if none). Returns undefined for any other error.
   */
  conflictSource(error: unknown): ConflictSource | undefined {
    return typeof error === 'object' && error !== null ? this.#conflicts?.get(error) : undefined;
  }

  override watch<T extends ApiObject>(model: Model<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>> {
    if (this.#ended !== undefined) throw this.#ended.lateError();
    const { signal, ...bound } = this.#bound(options);
    const stop = new AbortController();
    const unlink = linkAbort(stop, signal);
    this.#watches = [...this.#watches, { stop, unlink }];
    return super.watch(model, { ...bound, signal: stop.signal });
  }

  protected override read<O extends NamespaceOptions | undefined, R>(
    _call: ReadCall,
    options: O,
    send: (options: O) => Promise<R>,
  ): Promise<R> {
    return this.#ended === undefined ? send(this.#bound(options)) : Promise.reject(this.#ended.lateError());
  }

  protected override write<O extends AnyWriteOptions | undefined, R extends ApiObject | undefined>(
    call: WriteCall,
    options: O,
    send: (options: O) => Promise<R>,
  ): Promise<R> {
    const source = sourceOf(call, options);
    const { target } = source;
    const sendBound = (): Promise<R> => this.#logged(call, { source, options }, () => send(this.#bound(options)));
    if (options?.dryRun === true) return sendBound();
    const { ownKindId, quietWrites, statusWrites } = this.#parts;
    const sendQuietly = (): Promise<R> => quietWrites?.write(target, sendBound) ?? sendBound();
    if (target.kindId !== ownKindId || !writesStatus(call, options)) return sendQuietly();
    const wanted = this.#wantedStatus(call, target) ?? {};
    // The revision counts as this run's own only if the resulting status is the one that the run wanted; otherwise
    // another client changed the status, too.
    return statusWrites.write(idOf(target), sendQuietly, (result) =>
      deepEqual(statusOf(result) ?? {}, wanted) ? result?.metadata.resourceVersion : undefined,
    );
  }

  #wantedStatus(call: WriteCall, target: Target): unknown {
    switch (call.verb) {
      case 'updateStatus':
        return call.status;
      case 'apply':
        return this.#changedStatus(target, call.object);
      case 'patch':
        return call.patch.type === 'merge' ? this.#changedStatus(target, call.patch.patch) : undefined;
      case 'update':
        return statusOf(call.object);
      case 'create':
      case 'delete':
      case 'ensure':
        return undefined;
    }
  }

  #changedStatus(target: Target, change: object): unknown {
    return statusOf(applyMergePatch({ status: statusOf(this.#view.read(target)) }, change));
  }

  #bound<O extends RequestOptions | undefined>(options: O): O & { readonly signal: AbortSignal } {
    const { abort, reconcileID } = this.#parts;
    const { signal } = abort;
    // An object spread is faster when the other fields come before it: see CONTRIBUTING.md.
    return reconcileID === undefined ? { signal, ...options } : { signal, reconcileID, ...options };
  }

  #endWatches(): void {
    for (const { stop, unlink } of this.#watches) {
      unlink();
      stop.abort();
    }
    this.#watches = noWatches;
  }

  /** Sends a write. Adds it to {@link RunClient.writes} if `logsWrites` is true, and the write is not a dry run. */
  async #logged<R extends ApiObject | undefined>(
    call: WriteCall,
    { source, options }: { readonly source: ConflictSource; readonly options: AnyWriteOptions | undefined },
    send: () => Promise<R>,
  ): Promise<R> {
    if (this.#parts.logsWrites !== true || options?.dryRun === true) return this.#send(source, options, send);
    const { target } = source;
    const isFollowed = this.#view.follows(target.cacheId);
    const before = isFollowed ? this.#view.read(target) : undefined;
    const subresource = subresourceOf(call, options);
    const log = (this.#writes ??= new WriteLog());
    try {
      const after = await this.#send(source, options, send);
      log.add({ call, subresource, target, before, isFollowed, after });
      return after;
    } catch (error) {
      log.add({ call, subresource, target, before, isFollowed, after: undefined, error });
      throw error;
    }
  }

  async #send<R extends ApiObject | undefined>(
    source: ConflictSource,
    options: AnyWriteOptions | undefined,
    send: () => Promise<R>,
  ): Promise<R> {
    const { target } = source;
    if (this.#ended !== undefined) throw this.#ended.lateError();
    this.#inFlight += 1;
    try {
      const span = (): SpanOptions => ({
        name: `write ${target.kindId}`,
        kind: 'client',
        attributes: { 'homeostat.key': formatKey(target.key) },
      });
      const result = await inSpan(span, send);
      if (options?.dryRun === true) return result;
      if (result !== undefined && target.kindId === this.#parts.ownKindId) this.#lastWritten = result;
      if (result === undefined) this.#view.recordGone(target);
      else this.#view.record(result);
      return result;
    } catch (error) {
      if (isApiError(error) && isConflict(error)) (this.#conflicts ??= new WeakMap()).set(error, source);
      throw error;
    } finally {
      this.#inFlight -= 1;
      if (this.#inFlight === 0) this.#quiet?.resolve();
    }
  }
}

function makeQuiet(): Quiet {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}

function sourceOf(call: WriteCall, options: AnyWriteOptions | undefined): ConflictSource {
  const revision = options?.preconditions?.resourceVersion ?? '0';
  switch (call.verb) {
    case 'update':
    case 'updateStatus':
      return { target: targetOf(call.object), revision: call.object.metadata.resourceVersion ?? '0' };
    case 'create':
    case 'apply': {
      const { name = '', namespace = options?.namespace, resourceVersion } = call.object.metadata;
      return { target: targetIn(call.model, { name, namespace }), revision: resourceVersion ?? '0' };
    }
    case 'ensure': {
      const key = typeof call.key === 'string' ? parseKey(call.key) : call.key;
      return { target: targetIn(call.model, key), revision };
    }
    case 'patch':
    case 'delete': {
      const target = targetIn(call.model, { name: call.name, namespace: options?.namespace });
      return { target, revision: call.verb === 'patch' && revision === '0' ? preconditionOf(call.patch) : revision };
    }
  }
}

/** True for a write that may change the status and whose resulting status can be computed before the write is sent. */
function writesStatus(call: WriteCall, options: AnyWriteOptions | undefined): boolean {
  if (call.verb === 'update' || call.verb === 'updateStatus') return true;
  const isChange = call.verb === 'apply' || (call.verb === 'patch' && call.patch.type === 'merge');
  return isChange && options?.subresource === 'status';
}

/**
 * Returns the revision in the metadata of a merge patch, which is a precondition; `0` when there is no such revision.
 */
function preconditionOf(patch: Patch): string {
  const metadata: unknown = patch.type === 'merge' ? Reflect.get(patch.patch, 'metadata') : undefined;
  const revision: unknown =
    typeof metadata === 'object' && metadata !== null ? Reflect.get(metadata, 'resourceVersion') : '';
  return typeof revision === 'string' && revision !== '' ? revision : '0';
}

function statusOf(object: unknown): unknown {
  return typeof object === 'object' && object !== null ? Reflect.get(object, 'status') : undefined;
}
