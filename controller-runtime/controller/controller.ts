import { shardOf, type ApiObject, type Clock, type Logger, type ObjectKey } from '../api/index.ts';
import { aborted, linkAbort } from '../client/abort.ts';
import type { Informer } from '../client/informer.ts';
import type { Client } from '../client/client.ts';
import type { KeyState, QueueSizes } from '../queue/key-state.ts';
import type { Reason } from '../queue/reason.ts';
import { WorkerPool } from '../queue/worker-pool.ts';
import type { WorkQueue } from '../queue/work-queue.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { CacheView } from './run/cache-view.ts';
import { childLogger } from './sources/child-logger.ts';
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
import { cacheIdOf, kindIdOf } from './definition/kind-id.ts';
import { Mappings } from './sources/mappings.ts';
import { OwnRevisions } from './run/own-revisions.ts';
import { QuietWrites } from './run/quiet-writes.ts';
import { RelatedObjects } from './run/related-objects.ts';
import type { RunRecord } from './observe/run-history.ts';
import { RunObserver } from './observe/run-observer.ts';
import { runSource } from './sources/run-source.ts';
import type { ControllerReporter, ReportedController, ReportedShard } from './report/controller-reporter.ts';
import { Shard, type ShardParts } from './shard.ts';
import { workKey } from './definition/work-key.ts';

export interface ControllerParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a new reconcileID for each run. */
  readonly uuid: () => string;
  /** The time after which an error is logged if the caches are not synced. The controller continues to wait. */
  readonly cacheSyncTimeoutMs: number;
  /** The maximum time for which a stop waits for runs under way. */
  readonly graceMs: number;
  readonly metrics: Metrics;
  /** Starts the reporting of the controller, or of one of its shards. Absent when its state and runs are not stored. */
  readonly follow?: ((controller: ReportedController, shard?: ReportedShard) => ControllerReporter) | undefined;
  /**
   * The number of all shards of the controller. This process reconciles the keys of a shard between the calls of
   * {@link Controller.open} and {@link Controller.close} for this shard. Absent when this process reconciles all keys.
   */
  readonly shards?: number | undefined;
}

/** The maximum number of keys that a message names. */
const maxNamedKeys = 10;

/** A shard that this process reconciles. */
export interface HeldShard {
  /** A client whose writes are refused after another process took over the shard. */
  readonly client: Client;
  readonly leader: ReportedShard['leader'];
  /** False when another process may hold the shard by now. */
  readonly mayWrite: () => boolean;
}

/**
 * A running controller: its caches, and the code that fills the queues of its shards. A controller that is not sharded
 * has one shard with all keys. A controller can be run only once.
 */
export class Controller {
  readonly #definition: ControllerDefinition;
  readonly #parts: ControllerParts;
  readonly #logger: Logger;
  readonly #informers: Map<string, Informer<ApiObject>>;
  readonly #view: CacheView;
  readonly #statusWrites = new OwnRevisions();
  readonly #finalizerWrites = new OwnRevisions();
  readonly #quietWrites = new QuietWrites();
  readonly #shared: ShardParts['shared'];
  readonly #queue: Pick<WorkQueue, 'add'>;
  readonly #pool: WorkerPool;
  readonly #events: EventSource;
  readonly #mappings: Mappings;
  readonly #observer: RunObserver;
  readonly #shards = new Map<number, Shard>();
  readonly #caches = new Map<string, { readonly stop: AbortController; readonly done: Promise<void> }>();
  #following: AbortController | undefined;
  /**
   * Signals that this process has opened its first shard. Until then, a sharded controller delivers no events and runs
   * no key sources.
   */
  readonly #opened = new AbortController();
  /**
   * True once the delivery of events has begun. A shard that is opened later has missed the events of the existing
   * objects, so `#fill` enqueues the keys of these objects.
   */
  #hasBegun = false;
  #isWorking = false;
  readonly #filling = new Set<Promise<void>>();

  /** Makes the informers of the controller. {@link run} runs them. */
  constructor(definition: ControllerDefinition, parts: ControllerParts) {
    const { client, clock, metrics, shards } = parts;
    this.#definition = definition;
    this.#parts = parts;
    this.#logger = childLogger(parts.logger, { controller: definition.name });
    this.#informers = new Map(informersOf(definition, client));
    const readable = readableInformers(definition, this.#informers);
    const selective = [...readable.keys()].filter((cacheId) => !this.#informers.has(cacheId));
    this.#view = new CacheView(readable, new Set(selective));
    this.#pool = new WorkerPool(definition.concurrency);
    const depth = (): number => sum(this.#present(), ({ queue }) => queue.length);
    this.#observer = new RunObserver({ controller: definition, clock, metrics, depth });
    this.#shared = {
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
    };
    if (shards === undefined) {
      const { queue } = this.#add(0, { client, follow: parts.follow });
      this.#queue = queue;
    } else this.#queue = { add: (key, options) => this.#shards.get(shardOf(key, shards))?.queue.add(key, options) };
    this.#mappings = this.#createMappings();
    this.#events = this.#createEvents();
  }

  /**
   * Follows the controller's kinds and, once all caches are synced, reconciles until the signal aborts. Then it waits
   * for the runs under way, for at most the grace period. Settles when the controller and all its parts have stopped.
   */
  async run(signal: AbortSignal): Promise<void> {
    const following = new AbortController();
    for (const [id, informer] of this.#informers) this.#follow(id, informer, following.signal);
    this.#following = following;
    let sources: readonly Promise<void>[] = [];
    try {
      this.#mappings.start();
      if (this.#parts.shards !== undefined) await Promise.race([aborted(this.#opened.signal), aborted(signal)]);
      if (!signal.aborted) {
        sources = this.#runSources(signal);
        this.#events.start();
        this.#hasBegun = true;
        if (await this.#waitForSync(signal)) await this.#work(signal);
      }
    } finally {
      const { graceMs } = this.#parts;
      await Promise.all([...this.#present().map((shard) => shard.stop(graceMs)), this.#mappings.stop(graceMs)]);
      this.#events.stop();
      following.abort();
      await Promise.all([...Array.from(this.#caches.values(), ({ done }) => done), ...sources, ...this.#filling]);
      this.#observer.stop();
    }
  }

  /** Starts to reconcile the keys of a shard, including those of all existing objects. */
  open(index: number, { client, leader, mayWrite }: HeldShard): void {
    const { follow, shards = 1 } = this.#parts;
    const place = { shard: { index, of: shards }, leader, mayWrite };
    const shard = this.#add(index, { client, follow: follow && ((controller) => follow(controller, place)) });
    if (this.#isWorking) shard.start();
    if (!this.#hasBegun) return;
    const filling = this.#fill(index).finally(() => this.#filling.delete(filling));
    this.#filling.add(filling);
  }

  /** Prevents further runs of a shard, and waits until the runs under way have ended, even beyond the grace period. */
  async drain(index: number): Promise<void> {
    await this.#shards.get(index)?.drain(this.#parts.graceMs);
  }

  /** Stops a shard. Runs that take longer than the grace period are abandoned. */
  async close(index: number, graceMs: number = this.#parts.graceMs): Promise<void> {
    const shard = this.#shards.get(index);
    this.#shards.delete(index);
    await shard?.stop(graceMs);
  }

  /**
   * True when each cache of the controller has the initial objects, and the controller's handlers have received them.
   */
  hasSynced(): boolean {
    return this.#events.hasSynced();
  }

  /** True when no key is ready or being processed, and no event waits to be delivered. Delayed keys do not count. */
  isIdle(): boolean {
    if (this.#present().length === 0) return this.#parts.shards !== undefined;
    return this.#filling.size === 0 && this.#events.isIdle() && this.#present().every((shard) => shard.isIdle());
  }

  /** Returns the reason why the controller can no longer reconcile keys; undefined when it can. */
  healthProblem(): string | undefined {
    const { name, concurrency } = this.#definition;
    const overdue = this.#present().flatMap((shard) => [...shard.overdue]);
    if (overdue.length < concurrency) return undefined;
    const keys = overdue.slice(0, maxNamedKeys).join(', ');
    const more = overdue.length > maxNamedKeys ? ', …' : '';
    return `controller "${name}": all workers (${concurrency}) are occupied by runs that have exceeded their timeout and have not ended: ${keys}${more}`;
  }

  /** Returns the states of at most `limit` keys in the queues of the shards. */
  keys(limit: number = Infinity): readonly KeyState[] {
    const states: KeyState[] = [];
    for (const { queue } of this.#present()) states.push(...queue.snapshot(limit - states.length));
    return states;
  }

  /** Returns the state of one key; undefined when the key is not in a queue. */
  stateOf(key: string): KeyState | undefined {
    const { shards } = this.#parts;
    return this.#shards.get(shards === undefined ? 0 : shardOf(key, shards))?.queue.stateOf(key);
  }

  /**
   * Returns the last runs of a key, the newest first. Without a key, returns the last run of each key. Returns at most
   * `limit` runs.
   */
  runs(key: string | undefined, limit: number): readonly RunRecord[] {
    return key === undefined ? this.#observer.history.last(limit) : this.#observer.history.of(key, limit);
  }

  sizes(): QueueSizes {
    const all = this.#present().map(({ queue }) => queue.sizes());
    return {
      processing: sum(all, ({ processing }) => processing),
      parked: sum(all, ({ parked }) => parked),
      delayed: sum(all, ({ delayed }) => delayed),
      ready: sum(all, ({ ready }) => ready),
    };
  }

  /** Adds a source while the controller runs. From then on, the controller also follows the kind of the source. */
  addSource(source: OwnedSource | WatchSource): void {
    const id = followIdOf(source);
    const informer = this.#informers.get(id) ?? informerOf(source, this.#parts.client);
    if (!this.#informers.has(id) && this.#following !== undefined) {
      this.#informers.set(id, informer);
      this.#follow(id, informer, this.#following.signal);
    }
    this.#events.add(source, informer);
  }

  /**
   * Stops the events of a source that {@link addSource} added. The cache that the source reads stops when no other
   * source reads it.
   */
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
        for (const shard of this.#shards.values()) shard.observed(object);
      },
      logger: this.#logger,
    });
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
        'caches are not synced; the controller continues to wait',
      );
    }
    // A synced cache may still be filling the indexes of this controller, because another controller may have opened
    // the cache earlier.
    await Promise.all(Array.from(this.#informers.values(), (informer) => informer.whenIndexed()));
    return !signal.aborted;
  }

  async #work(signal: AbortSignal): Promise<void> {
    this.#isWorking = true;
    for (const shard of this.#present()) shard.start();
    await aborted(signal);
  }

  #present(): readonly Shard[] {
    return [...this.#shards.values()];
  }

  #add(index: number, { client, follow }: Pick<ShardParts, 'client' | 'follow'>): Shard {
    const shard = new Shard({
      definition: this.#definition,
      client,
      clock: this.#parts.clock,
      logger: this.#logger,
      uuid: this.#parts.uuid,
      shared: this.#shared,
      observer: this.#observer,
      pool: this.#pool,
      follow,
      healthProblem: () => this.healthProblem(),
    });
    this.#shards.set(index, shard);
    this.#opened.abort();
    return shard;
  }

  /**
   * Enqueues the keys of a shard for all existing objects. This is needed for a shard that was opened after the
   * delivery of these objects' events had begun.
   */
  async #fill(index: number): Promise<void> {
    const { clock, shards = 1 } = this.#parts;
    const replays = this.#events.replay((key) => shardOf(key, shards) === index);
    const signal = this.#following?.signal ?? this.#opened.signal;
    await waitFor(() => replays.every((replay) => replay.hasSynced()), Infinity, { clock, signal });
    for (const replay of replays) replay.remove();
  }
}

function sum<T>(items: readonly T[], count: (item: T) => number): number {
  return items.reduce((total, item) => total + count(item), 0);
}
