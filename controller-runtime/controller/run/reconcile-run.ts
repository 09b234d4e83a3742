import { deepEqual, isPaused, parseKey, type ApiObject, type Clock, type Logger, type Timer } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { EventWriter } from '../../events/event-recorder.ts';
import type { WorkItem } from '../../queue/queue-entry.ts';
import type { EffectMemory } from '../effects/effect-memory.ts';
import type { CacheView, Target } from './cache-view.ts';
import type { ControllerDefinition } from '../definition/controller-definition.ts';
import { writeFinalizers } from './finalizer-writes.ts';
import { addFinalizer, removeFinalizer } from './finalizers.ts';
import { formatTime } from '../../clock/format-time.ts';
import type { HotLoopDetector } from './hot-loop.ts';
import { outcomeOfError, outcomeOfResult, type Outcome } from './outcome.ts';
import type { OwnRevisions } from './own-revisions.ts';
import type { QuietWrites } from './quiet-writes.ts';
import type { ReconcileContext, ReconcileRequest, ReconcileResult } from '../definition/reconciler.ts';
import type { ObjectSlots, SlotRun } from './object-slots.ts';
import type { RelatedObjects } from './related-objects.ts';
import { RunClient } from './run-client.ts';
import { RunVerbs } from './run-verbs.ts';
import type { WriteLog } from './write-log.ts';
import { isTerminal } from '../definition/terminal-error.ts';
import { maxReasons, type Reason } from '../../queue/reason.ts';

export interface RunParts {
  readonly definition: ControllerDefinition;
  /** The controller's own kind. Together with the key of a run, it identifies the object. */
  readonly ownKind: Omit<Target, 'key'>;
  readonly client: Client;
  readonly clock: Clock;
  readonly view: CacheView;
  readonly related: RelatedObjects;
  readonly statusWrites: OwnRevisions;
  readonly finalizerWrites: OwnRevisions;
  readonly quietWrites: QuietWrites;
  /** Returns the finished external effects that are kept in memory. The first call creates this memory. */
  readonly effects: () => EffectMemory;
  readonly hotLoop: HotLoopDetector;
  /** The slots of the objects; undefined for a controller with neither interval nor schedule. */
  readonly slots: ObjectSlots | undefined;
  /** True when the writes of each run are recorded in {@link ReconcileRun.writes}. */
  readonly logsWrites: boolean;
  readonly events: Pick<EventWriter, 'ofRun'>;
  /** Called when a run exceeds its timeout, while the run is still under way. */
  readonly onTimeout: (run: RunTask, error: Error) => void;
}

export interface RunTask {
  readonly item: WorkItem;
  readonly reconcileID: string;
  /** A logger that adds the controller, the key and the reconcileID to each line. */
  readonly logger: Logger;
}

/** One run of one key: it reads the object, calls the author's code, and determines the outcome. */
export class ReconcileRun {
  readonly #parts: RunParts;
  readonly #task: RunTask;
  readonly #client: RunClient;
  /**
   * Aborts the requests of the run. Its signal is created only when it is first read, because the creation costs as
   * much as all the rest of a run that does nothing.
   */
  readonly #abort = new AbortController();
  /**
   * Aborts the signal that the author's code gets. When the controller stops, only this signal aborts, and the requests
   * of the run continue.
   */
  readonly #stop = new AbortController();
  #verbs: RunVerbs | undefined;
  #timer: Timer | undefined;
  #timeout: Error | undefined;
  #toldToEnd: Error | undefined;
  #hasFailed = false;
  #isPaused = false;
  #object: ApiObject | undefined;
  #slot: { readonly object: ApiObject; readonly slot: number } | undefined;

  constructor(parts: RunParts, task: RunTask) {
    this.#parts = parts;
    this.#task = task;
    const { client, view, statusWrites, quietWrites, ownKind, logsWrites } = parts;
    const { reconcileID } = task;
    const { kindId: ownKindId } = ownKind;
    const abort = this.#abort;
    const writes = { statusWrites, quietWrites };
    this.#client = new RunClient({ client, reconcileID, abort, view, ...writes, ownKindId, logsWrites });
  }

  /** The object at the start of the run; undefined when it did not exist, or the run has not begun. */
  get object(): ApiObject | undefined {
    return this.#object;
  }

  /** The writes of the run; undefined when the run has not written, or when runs of its controller are not recorded. */
  get writes(): WriteLog | undefined {
    return this.#client.writes;
  }

  /**
   * Does the run. At the timeout, the signal aborts, but the call still waits for the end of the author's code and of
   * its writes: otherwise two runs of one key could overlap. Never rejects.
   */
  async run(): Promise<Outcome> {
    const { clock, definition } = this.#parts;
    this.#timer = clock.setTimeout(() => this.#onTimeout(), definition.timeoutMs);
    try {
      const result = await this.#reconcileAndWrite();
      const outcome: Outcome = this.#isPaused ? { kind: 'paused' } : outcomeOfResult(result);
      const writes = this.#client.end(this);
      if (writes !== undefined) await this.#awaitForgotten(writes);
      return this.#timeout === undefined ? outcome : { kind: 'timeout', error: this.#timeout };
    } catch (error) {
      this.#hasFailed = true;
      // Writes of a failed run that are still under way are awaited, but not reported as a mistake: a Promise.all
      // rejects at its first error, while its other writes may still be under way.
      await this.#client.end(this);
      if (this.#timeout !== undefined) return { kind: 'timeout', error: this.#timeout };
      if (this.#isStopping(error)) return { kind: 'stopped' };
      return outcomeOfError(error, this.#client.conflictSource(error));
    } finally {
      clock.clearTimeout(this.#timer);
    }
  }

  /** Signals to the run that the controller stops. The requests of the run continue. */
  stop(reason: Error): void {
    this.#stop.abort(reason);
  }

  /** Aborts the run, and clears its timer. */
  abandon(reason: Error): void {
    this.#parts.clock.clearTimeout(this.#timer);
    this.#tellToEnd(reason);
  }

  /**
   * Returns the error for requests that are sent after the run has ended or was aborted. Logs it, unless the run was
   * aborted or has failed.
   */
  lateError(): Error {
    if (this.#toldToEnd !== undefined) return this.#toldToEnd;
    const { item, logger } = this.#task;
    const run = `the run of ${this.#parts.definition.name} "${item.key}" has ended`;
    const err = new Error(`${run}, so its client refuses the request: is an await missing?`);
    if (!this.#hasFailed) logger.error({ err }, 'a request was sent after its run had ended');
    return err;
  }

  #onTimeout(): void {
    const { timeoutMs } = this.#parts.definition;
    const error = new Error(`the run outlasted its timeout of ${timeoutMs} ms`);
    this.#timeout = error;
    this.#tellToEnd(error);
    this.#parts.onTimeout(this.#task, error);
  }

  #tellToEnd(reason: Error): void {
    this.#toldToEnd = reason;
    this.#stop.abort(reason);
    this.#abort.abort(reason);
    void this.#client.end(this);
  }

  #awaitForgotten(writes: Promise<void>): Promise<void> {
    this.#task.logger.warn({}, 'a run returned before its writes had ended: is an await missing?');
    return writes;
  }

  /**
   * Calls the author's code, and writes the conditions that the run has set. The conditions of a failed run are also
   * written, because they explain the failure.
   */
  async #reconcileAndWrite(): Promise<ReconcileResult> {
    try {
      const result = await this.#reconcile();
      await this.#verbs?.writeConditions();
      await this.#endSlot(() => endsSlot(result));
      return result;
    } catch (error) {
      await this.#verbs?.writeConditions().catch((err: unknown) => {
        this.#task.logger.warn({ err }, 'the conditions of a failed run could not be written');
      });
      await this.#endSlot(() => isTerminal(error));
      throw error;
    }
  }

  /** True for an error that the author's code threw because its signal aborted when the controller stopped. */
  #isStopping(error: unknown): boolean {
    const { signal } = this.#stop;
    if (!signal.aborted) return false;
    return (
      error === signal.reason ||
      (error instanceof Error && (error.name === 'AbortError' || error.cause === signal.reason))
    );
  }

  async #reconcile(): Promise<ReconcileResult> {
    const { definition, ownKind, view } = this.#parts;
    const { reconcile } = definition;
    const request = this.#request();
    const object = view.read({ kindId: ownKind.kindId, cacheId: ownKind.cacheId, key: request.key });
    this.#object = object;
    if (object !== undefined && isPaused(object, definition.name)) {
      this.#isPaused = true;
      return undefined;
    }
    this.#watchHotLoop(object);
    const isPresent = object !== undefined && object.metadata.deletionTimestamp === undefined;
    if (!isPresent) this.#parts.slots?.forget(this.#task.item.key);
    if (typeof reconcile !== 'function') {
      if (!isPresent || this.#parts.slots === undefined) return reconcile.reconcile(request);
      return this.#inSlot(request, object, () => reconcile.reconcile(request));
    }
    if (object === undefined) return undefined;
    if (!isPresent) return this.#cleanUp(request, object);
    const prepared = await this.#prepare(object);
    if (prepared === undefined) return undefined;
    if (this.#parts.slots === undefined) return reconcile(this.#context(request, prepared));
    return this.#inSlot(request, prepared, (present) => reconcile(this.#context(request, present)));
  }

  /** Calls the author's code. If a slot is due, the call is for this slot. */
  async #inSlot(
    request: ReconcileRequest,
    object: ApiObject,
    work: (object: ApiObject) => ReconcileResult | Promise<ReconcileResult>,
  ): Promise<ReconcileResult> {
    const begun = await this.#parts.slots?.begin(this.#slotRun(), object);
    const reasons = request.reasons.filter(({ type }) => type !== 'schedule');
    if (begun?.slot === undefined) {
      Object.assign(request, { reasons });
      return work(begun?.object ?? object);
    }
    const scheduled = formatTime(begun.slot);
    const reason: Reason = { type: 'schedule', detail: scheduled };
    Object.assign(request, { scheduled, reasons: [reason, ...reasons].slice(0, maxReasons) });
    this.#slot = { object: begun.object, slot: begun.slot };
    return work(begun.object);
  }

  /**
   * Stores that the slot has ended, unless the signal of the run has aborted: the run may have ended early, so its slot
   * runs again.
   */
  async #endSlot(isEnded: () => boolean): Promise<void> {
    const ending = this.#slot;
    if (ending === undefined || this.#stop.signal.aborted || !isEnded()) return;
    await this.#parts.slots?.end(this.#slotRun(), ending.object, ending.slot);
  }

  #slotRun(): SlotRun {
    const { item, reconcileID, logger } = this.#task;
    return { key: item.key, reconcileID, logger, client: this.#client };
  }

  #watchHotLoop(object: ApiObject | undefined): void {
    const { item, logger } = this.#task;
    const { clock, hotLoop } = this.#parts;
    const hot = hotLoop.countRun(item.key, object?.metadata.generation, clock.monotonicMs());
    if (hot === undefined) return;
    const { runsPerMinute, isChanging } = hot;
    const told = `hot loop: "${item.key}" ran more than ${runsPerMinute} times in a minute`;
    const why = isChanging
      ? ', and its spec changed again and again: does each run write it?'
      : ` though its spec did not change: each run writes something new, or two controllers undo each other's work`;
    logger.warn({ runsPerMinute }, `${told}${why}`);
  }

  /** Adds the finalizer before the first reconcile, or removes it when the controller no longer has a cleanup. */
  #prepare(object: ApiObject): Promise<ApiObject | undefined> {
    const { cleanup, finalizer } = this.#parts.definition;
    return this.#writeFinalizers(object, (present) =>
      cleanup === undefined ? removeFinalizer(present, finalizer) : addFinalizer(present, finalizer),
    );
  }

  /**
   * Calls `cleanup`, and then removes the finalizer, unless the result of `cleanup` requests another run. Does nothing
   * for an object without the finalizer, because its cleanup is done.
   */
  async #cleanUp(request: ReconcileRequest, object: ApiObject): Promise<ReconcileResult> {
    const { cleanup, finalizer } = this.#parts.definition;
    if (object.metadata.finalizers?.includes(finalizer) !== true) return undefined;
    const result = await cleanup?.(this.#context(request, object));
    if (outcomeOfResult(result).kind !== 'success') return result;
    // A cleanup whose signal has aborted may have ended early, so the finalizer must stay.
    this.#stop.signal.throwIfAborted();
    const known = this.#client.lastWritten(object) ?? object;
    const mayWrite = (fresh: ApiObject): boolean => hasSameContent(fresh, known);
    const newest = this.#parts.view.newest(object);
    // The object has changed during the cleanup, so the cleanup runs again at once. It may have missed something: for
    // example, the id of an external resource, which a late write of a former leader has stored in the object.
    if (!mayWrite(newest)) return { after: 0 };
    await this.#writeFinalizers(newest, (present) => removeFinalizer(present, finalizer), mayWrite);
    return undefined;
  }

  #writeFinalizers(
    object: ApiObject,
    change: Parameters<typeof writeFinalizers>[2],
    mayWrite: (fresh: ApiObject) => boolean = () => true,
  ): Promise<ApiObject | undefined> {
    const { definition, finalizerWrites } = this.#parts;
    return writeFinalizers(
      { client: this.#client, model: definition.model, finalizerWrites, mayWrite },
      object,
      change,
    );
  }

  /**
   * Returns the part of the context that every run gets. Its fields are listed one by one, because an object spread
   * would take most of the time of a short run; there can be more than 10,000 short runs a second.
   */
  #request(): ReconcileRequest {
    const { item, logger, reconcileID } = this.#task;
    const { clock, events } = this.#parts;
    const stop = this.#stop;
    const key = parseKey(item.key);
    return {
      key,
      name: key.name,
      namespace: key.namespace,
      client: this.#client,
      clock,
      get now() {
        return formatTime(clock.now());
      },
      get signal() {
        return stop.signal;
      },
      scheduled: undefined,
      reasons: item.reasons,
      recorder: events.ofRun(reconcileID),
      logger,
      reconcileID,
    };
  }

  #context(request: ReconcileRequest, object: ApiObject): ReconcileContext {
    const { definition, view, related, effects } = this.#parts;
    const client = this.#client;
    const { model, finalizer: manager } = definition;
    this.#verbs = new RunVerbs({ client, view, related, effects, model, manager, object, request });
    return Object.assign(request, this.#verbs.bound());
  }
}

/**
 * True when all fields except metadata are equal. Metadata may differ, because users may label and annotate objects at
 * any time.
 */
function hasSameContent(
  { metadata: _, ...fields }: ApiObject,
  { metadata: _other, ...otherFields }: ApiObject,
): boolean {
  return deepEqual(fields, otherFields);
}

/**
 * True when the result ends the slot: every result except `requeue: true` without a delay. With a delay (`after` or
 * `requeueAfter`), the key is reconciled again, but the slot has ended.
 */
function endsSlot(result: ReconcileResult): boolean {
  const { kind } = outcomeOfResult(result);
  return kind === 'success' || kind === 'after';
}
