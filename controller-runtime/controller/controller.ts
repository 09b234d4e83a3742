import type { ApiObject, Clock, Logger, ObjectKey } from '../api/index.ts';
import { aborted, linkAbort } from '../client/abort.ts';
import type { Informer } from '../client/informer.ts';
import type { Client } from '../client/client.ts';
import { sleep } from '../clock/sleep.ts';
import type { KeyState, QueueSizes } from '../queue/key-state.ts';
import type { WorkItem } from '../queue/queue-entry.ts';
import { EventWriter } from '../events/event-recorder.ts';
import type { Reason } from '../queue/reason.ts';
import { WorkQueue } from '../queue/work-queue.ts';
import { Workers } from '../queue/workers.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { EffectMemory } from './effects/effect-memory.ts';
import { CacheView } from './run/cache-view.ts';
import { childLogger } from './sources/child-logger.ts';
import { ConflictWaits } from './run/conflict-waits.ts';
import type { ControllerDefinition } from './definition/controller-definition.ts';
import { EventSource } from './sources/event-source.ts';
import {
  followCache,
  followedKinds,
  informerOf,
  informersOf,
  readableInformers,
  waitFor,
} from './sources/follow-caches.ts';
import { followIdOf, type OwnedSource, type WatchSource } from './definition/followed-kind.ts';
import { HotLoopDetector } from './run/hot-loop.ts';
import { cacheIdOf, kindIdOf } from './definition/kind-id.ts';
import { Mappings } from './sources/mappings.ts';
import { ObjectSlots } from './run/object-slots.ts';
import { OwnRevisions } from './run/own-revisions.ts';
import type { Outcome } from './run/outcome.ts';
import { RelatedObjects } from './run/related-objects.ts';
import { ReconcileRun, type RunOptions, type RunParts } from './run/reconcile-run.ts';
import type { RunRecord } from './observe/run-history.ts';
import { RunObserver, type EndedRun } from './observe/run-observer.ts';
import { runSource } from './sources/run-source.ts';
import { settleRun } from './run/settle-run.ts';
import type { ControllerReporter, ReportedController } from './report/controller-reporter.ts';
import { workKey } from './definition/work-key.ts';

export interface ControllerParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Makes the reconcileID of each run. */
  readonly uuid: () => string;
  /** If the caches are not synced after this time, an error is logged; the wait goes on. */
  readonly cacheSyncTimeoutMs: number;
  /** How long a stop waits for runs under way. */
  readonly graceMs: number;
  readonly metrics: Metrics;
  /** Begins to report the controller. Absent: it is not reported. */
  readonly follow?: (controller: ReportedController) => ControllerReporter;
}

/** In a message. */
const maxNamedKeys = 10;

/** Keys in a report that wait without a failure: more of them would tell little, and cost the most. */
const usualKeys = 20;

/** A controller at work: its caches, its queue, its workers. Lives once. */
export class Controller {
  readonly #definition: ControllerDefinition;
  readonly #parts: ControllerParts;
  readonly #logger: Logger;
  readonly #informers: Map<string, Informer<ApiObject>>;
  readonly #view: CacheView;
  readonly #statusWrites = new OwnRevisions();
  readonly #finalizerWrites = new OwnRevisions();
  readonly #quietWrites = new OwnRevisions();
  readonly #queue: WorkQueue;
  readonly #waits: ConflictWaits;
  readonly #events: EventSource;
  readonly #runParts: RunParts;
  readonly #workers: Workers;
  readonly #mappings: Mappings;
  readonly #observer: RunObserver;
  readonly #recorder: EventWriter;
  readonly #reporter: ControllerReporter | undefined;
  readonly #caches = new Map<string, { readonly stop: AbortController; readonly done: Promise<void> }>();
  #following: AbortController | undefined;
  /** Runs under way. */
  readonly #running = new Map<string, ReconcileRun>();
  /** Keys of those that have outlasted their timeout. */
  readonly #overdue = new Set<string>();
  #effects: EffectMemory | undefined;
  #isAbandoned = false;

  /** Asks the client for the informers; {@link run} runs them. */
  constructor(definition: ControllerDefinition, parts: ControllerParts) {
    const { client, clock } = parts;
    const { backoff, retryLimit, concurrency, hotLoopRunsPerMinute } = definition;
    this.#definition = definition;
    this.#parts = parts;
    this.#logger = childLogger(parts.logger, { controller: definition.name });
    this.#informers = new Map(informersOf(definition, client));
    const readable = readableInformers(definition, this.#informers);
    this.#view = new CacheView(readable);
    const { metrics } = parts;
    this.#observer = new RunObserver({ controller: definition, clock, metrics, depth: () => this.#queue.length });
    this.#recorder = new EventWriter({ ...parts, logger: this.#logger, component: definition.name });
    this.#reporter = parts.follow?.(this.#reported());
    const observer = this.#observer.queueFor(() => this.#reporter?.touch());
    this.#queue = new WorkQueue({ clock, backoff, retryLimit, observer, onReady: () => this.#workers.pump() });
    this.#workers = new Workers({ queue: this.#queue, concurrency, process: (item) => this.#process(item) });
    const reason: Reason = { type: 'retry' };
    this.#waits = new ConflictWaits((key, priority) => this.#queue.add(key, { priority, reason }));
    this.#mappings = this.#createMappings();
    this.#events = this.#createEvents();
    this.#runParts = {
      definition,
      client,
      clock,
      view: this.#view,
      related: new RelatedObjects({
        controller: definition.name,
        owns: definition.owns,
        follows: followedKinds(definition),
        informers: readable,
        view: this.#view,
      }),
      ownKind: { kindId: kindIdOf(definition.model), cacheId: cacheIdOf(definition.model) },
      statusWrites: this.#statusWrites,
      finalizerWrites: this.#finalizerWrites,
      quietWrites: this.#quietWrites,
      quietKinds: quietKindsOf(definition),
      effects: () => this.#rememberEffects(),
      hotLoop: new HotLoopDetector(hotLoopRunsPerMinute),
      slots: slotsOf(definition, clock),
      logsWrites: this.#reporter !== undefined,
      events: this.#recorder,
      onTimeout: (run, error) => this.#onTimeout(run, error),
    };
  }

  /**
   * Follows its kinds and, once all caches are synced, reconciles until the signal aborts. Then it waits for the runs
   * under way, within the grace. Settles when all of it has stopped.
   */
  async run(signal: AbortSignal): Promise<void> {
    const following = new AbortController();
    for (const [id, informer] of this.#informers) this.#follow(id, informer, following.signal);
    this.#following = following;
    const sources = this.#runSources(signal);
    this.#reporter?.touch();
    try {
      this.#mappings.start();
      this.#events.start();
      if (await this.#waitForSync(signal)) await this.#work(signal);
    } finally {
      await Promise.all([this.#drain(), this.#mappings.stop(this.#parts.graceMs)]);
      this.#events.stop();
      await this.#effects?.stop();
      await this.#reporter?.close();
      following.abort();
      await Promise.all([...Array.from(this.#caches.values(), ({ done }) => done), ...sources]);
      await this.#recorder.close();
      this.#observer.stop();
    }
  }

  /** True when each of its caches has the initial objects, and its handlers have received them. */
  hasSynced(): boolean {
    return this.#events.hasSynced();
  }

  /** True when no key is ready or being processed, and no event waits to be delivered. Delayed keys do not count. */
  isIdle(): boolean {
    const { length, processing } = this.#queue;
    const waiting = length + processing + this.#waits.size;
    return (
      this.#workers.isWorking &&
      waiting === 0 &&
      this.#events.isIdle() &&
      this.#recorder.isIdle() &&
      this.#effects?.isIdle() !== false
    );
  }

  /** Why keys can no longer be reconciled; undefined when they can. */
  healthProblem(): string | undefined {
    const { name, concurrency } = this.#definition;
    if (this.#overdue.size < concurrency) return undefined;
    const keys = [...this.#overdue].slice(0, maxNamedKeys).join(', ');
    const more = this.#overdue.size > maxNamedKeys ? ', …' : '';
    return `controller "${name}": none of its ${concurrency} workers is left: runs outlasted their timeout and have not ended (${keys}${more})`;
  }

  /** The states of the first `limit` keys. */
  keys(limit?: number): readonly KeyState[] {
    return this.#queue.snapshot(limit);
  }

  /** The state of one key; undefined when it waits for nothing. */
  stateOf(key: string): KeyState | undefined {
    return this.#queue.stateOf(key);
  }

  /** The last runs of a key, the newest first; without a key, the last run of each, `limit` of them. */
  runs(key: string | undefined, limit: number): readonly RunRecord[] {
    return key === undefined ? this.#observer.history.last(limit) : this.#observer.history.of(key);
  }

  sizes(): QueueSizes {
    return this.#queue.sizes();
  }

  /** Follows one more kind while it runs. */
  addSource(source: OwnedSource | WatchSource): void {
    const id = followIdOf(source);
    const informer = this.#informers.get(id) ?? informerOf(source, this.#parts.client);
    if (!this.#informers.has(id) && this.#following !== undefined) {
      this.#informers.set(id, informer);
      this.#follow(id, informer, this.#following.signal);
    }
    this.#events.add(source, informer);
  }

  /** Stops the events of a source that was added. The cache of its kind stops with the last source that reads it. */
  removeSource(source: OwnedSource | WatchSource): void {
    this.#events.remove(source);
    const id = followIdOf(source);
    const isRead = followedKinds(this.#definition).some((each) => followIdOf(each) === id);
    if (isRead || this.#events.reads(id)) return;
    this.#caches.get(id)?.stop.abort();
    this.#informers.delete(id);
  }

  hasSyncedSource(source: OwnedSource | WatchSource): boolean {
    return this.#events.hasSynced(source);
  }

  #follow(id: string, informer: Informer<ApiObject>, signal: AbortSignal): void {
    const stop = new AbortController();
    const unlink = linkAbort(stop, signal);
    const parts = { clock: this.#parts.clock, logger: this.#logger, signal: stop.signal };
    this.#caches.set(id, { stop, done: followCache(informer, id, parts).finally(unlink) });
  }

  #createEvents(): EventSource {
    return new EventSource({
      definition: this.#definition,
      informers: this.#informers,
      mappings: this.#mappings,
      queue: this.#queue,
      statusWrites: this.#statusWrites,
      finalizerWrites: this.#finalizerWrites,
      quietWrites: this.#quietWrites,
      onObserved: (object) => {
        this.#view.observed(object);
        this.#waits.observed(object);
      },
      logger: this.#logger,
    });
  }

  /** A controller without external effects has no memory of them. */
  #rememberEffects(): EffectMemory {
    const { client, clock, uuid } = this.#parts;
    const parts = { client, clock, uuid, logger: this.#logger, definition: this.#definition };
    return (this.#effects ??= new EffectMemory(parts));
  }

  #createMappings(): Mappings {
    const { client, clock, metrics } = this.#parts;
    const parts = { client, clock, metrics, logger: this.#logger, view: this.#view, queue: this.#queue };
    return new Mappings({ ...parts, definition: this.#definition, statusWrites: this.#statusWrites });
  }

  #runSources(signal: AbortSignal): readonly Promise<void>[] {
    const { client, clock, graceMs } = this.#parts;
    const { model, sources } = this.#definition;
    const context = { client, clock, signal, logger: this.#logger };
    return sources.map((keys) => {
      const reason: Reason = { type: 'event', detail: `source ${keys.name}` };
      const enqueue = (key: string | ObjectKey): void => this.#queue.add(workKey(key, model), { reason });
      return runSource(keys, { context, enqueue, graceMs });
    });
  }

  async #waitForSync(signal: AbortSignal): Promise<boolean> {
    const { clock, cacheSyncTimeoutMs } = this.#parts;
    while (!(await waitFor(() => this.#events.hasSynced(), cacheSyncTimeoutMs, { clock, signal }))) {
      if (signal.aborted) return false;
      const kinds = [...this.#informers].filter(([, informer]) => !informer.hasSynced()).map(([cacheId]) => cacheId);
      this.#logger.error(
        { kinds, waitedMs: cacheSyncTimeoutMs },
        'caches are not synced; the controller keeps waiting',
      );
    }
    // A cache that other controllers share may be open already, and still be filling the indexes of this one.
    await Promise.all(Array.from(this.#informers.values(), (informer) => informer.whenIndexed()));
    return !signal.aborted;
  }

  async #work(signal: AbortSignal): Promise<void> {
    this.#workers.start();
    await aborted(signal);
  }

  async #process(item: WorkItem): Promise<void> {
    const { key } = item;
    // This run satisfies the wait: the event that started it must not cause another run.
    this.#waits.cancel(key);
    const reconcileID = this.#parts.uuid();
    const logger = childLogger(this.#logger, { key, reconcileID });
    const run = new ReconcileRun(this.#runParts, { item, reconcileID, logger });
    this.#running.set(key, run);
    const { outcome, record } = await this.#observer.observe({ item, reconcileID }, () => run.run());
    this.#running.delete(key);
    this.#overdue.delete(key);
    if (!this.#isAbandoned) {
      settleRun({ queue: this.#queue, view: this.#view, waits: this.#waits, logger }, item, outcome);
      this.#queueNextTime(key, outcome);
    }
    this.#queue.done(key);
    if (this.#reporter !== undefined && !this.#isAbandoned) this.#report(item, run, { outcome, record });
  }

  #report(item: WorkItem, { object, writes }: ReconcileRun, { outcome, record }: EndedRun): void {
    const error = 'error' in outcome ? outcome.error : undefined;
    const nextTime = (): number | undefined => this.#queue.stateOf(item.key)?.nextTime;
    this.#reporter?.ended({ item, record, error, object, writes, nextTime });
  }

  #reported(): ReportedController {
    return {
      sizes: () => this.sizes(),
      failing: () => this.#queue.failing,
      keys: (limit) => this.#firstKeys(limit),
      healthProblem: () => this.healthProblem(),
    };
  }

  /** The keys that run, then those that wait. Costs `limit`, however many keys there are. */
  #firstKeys(limit: number): readonly KeyState[] {
    const running = Array.from(this.#running.keys()).slice(0, limit);
    const states = running.flatMap((key) => this.#queue.stateOf(key) ?? []);
    return [...states, ...this.#queue.waiting(limit - states.length, usualKeys)];
  }

  /** What a run asks for itself replaces the interval; a failed run has its back-off. */
  #queueNextTime(key: string, { kind }: Outcome): void {
    const delays = this.#runParts.slots?.delays(key);
    if (delays === undefined) return;
    const { everyMs, slotMs } = delays;
    if (everyMs !== undefined && kind === 'success') this.#queue.addAfter(key, everyMs, { reason: { type: 'timer' } });
    // A slot that is due already waits for the back-off of a failed run, too.
    const canRun = slotMs !== 0 || kind === 'success' || kind === 'after' || kind === 'terminal';
    if (slotMs !== undefined && canRun)
      this.#queue.addAfter(key, slotMs, { priority: 0, reason: { type: 'schedule' } });
  }

  /** The run holds its worker until it ends, which may be never. */
  #onTimeout({ item: { key, attempts }, logger }: RunOptions, err: Error): void {
    this.#overdue.add(key);
    this.#observer.timedOut();
    logger.error({ attempt: attempts + 1, err }, 'a run outlasted its timeout; its key waits until it has ended');
    const problem = this.healthProblem();
    if (problem !== undefined) this.#logger.error({}, problem);
  }

  /** Runs that outlast the grace get an aborted signal and are abandoned: their outcome no longer counts. */
  async #drain(): Promise<void> {
    const { clock, graceMs } = this.#parts;
    const drained = new AbortController();
    for (const run of this.#running.values()) run.stop(new Error('the controller is stopping'));
    const draining = this.#queue.shutdownWithDrain().then(() => drained.abort());
    await Promise.race([draining, sleep(clock, graceMs, drained.signal)]);
    this.#workers.stop();
    if (this.#running.size === 0) return;
    this.#isAbandoned = true;
    this.#logger.warn(
      { keys: [...this.#running.keys()], graceMs },
      'runs did not end within the grace; they are abandoned',
    );
    for (const run of this.#running.values()) run.abandon(new Error('the controller has stopped'));
  }
}

function slotsOf({ model, finalizer: manager, timing }: ControllerDefinition, clock: Clock): ObjectSlots | undefined {
  return timing === undefined ? undefined : new ObjectSlots({ model, manager, timing, clock });
}

/** The kinds of which a source leaves out the controller's own writes. */
function quietKindsOf({ owns, watches }: ControllerDefinition): ReadonlySet<string> {
  return new Set([...owns, ...watches].filter((each) => each.ignoreOwnWrites).map(({ model }) => kindIdOf(model)));
}
