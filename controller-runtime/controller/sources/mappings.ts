import { formatKey, keyOf, type ApiObject, type Clock, type Logger, type ObjectKey } from '../../api/index.ts';
import { endsWithin } from '../../clock/sleep.ts';
import type { Client } from '../../client/client.ts';
import type { WorkItem } from '../../queue/queue-entry.ts';
import type { Reason } from '../../queue/reason.ts';
import { Workers } from '../../queue/workers.ts';
import { WorkQueue } from '../../queue/work-queue.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { CacheView } from '../run/cache-view.ts';
import type { ControllerDefinition } from '../definition/controller-definition.ts';
import type { PrioritizedKey, WatchSource } from '../definition/followed-kind.ts';
import { QueueMetrics, sampleQueue } from '../observe/controller-metrics.ts';
import { kindIdOf } from '../definition/kind-id.ts';
import { MappingRun, type MappingRunParts } from './mapping-run.ts';
import type { OwnRevisions } from '../run/own-revisions.ts';
import { PendingStates } from './pending-states.ts';
import { workKey } from '../definition/work-key.ts';

export interface MappingParts {
  readonly definition: ControllerDefinition;
  readonly client: Client;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly view: CacheView;
  readonly statusWrites: OwnRevisions;
  /** The queue to which the keys from mappings are added. */
  readonly queue: Pick<WorkQueue, 'add'>;
}

/**
 * The maximum number of items that are processed in one turn of the event loop. It is higher than the number of events
 * that a handler receives in one turn, so that quick mappings keep pace with the events of the initial objects.
 */
const itemsPerTurn = 200;

/**
 * The maximum number of objects whose failed mapping waits for a retry. Beyond this number, a failed mapping is not
 * retried.
 */
const maxFailed = 10_000;

/** An event of a watched kind. The mapping must be called with each of the `states` of the changed object. */
export interface MappedEvent {
  readonly source: WatchSource;
  readonly states: readonly ApiObject[];
  readonly priority: number;
  readonly reason: Reason;
}

/**
 * Calls the mappings of a controller's watches. They have a work queue of their own, with one entry for each object,
 * and with the concurrency, the back-off and the timeout of the controller. A mapping that fails is retried until it
 * succeeds. When an object has had more than eight states before its mapping succeeds, the controller maps the first
 * state and the last seven. While 10,000 objects wait for a retry, the controller does not retry the failed mapping of
 * another object: it drops the states that could not be mapped, and logs an error.
 */
export class Mappings {
  readonly #parts: MappingParts;
  readonly #runParts: MappingRunParts;
  /** Each source has a number. The id of an entry of the queue has this number and the key of the changed object. */
  readonly #sources = new Map<WatchSource, number>();
  readonly #queue: WorkQueue;
  readonly #workers: Workers;
  readonly #metrics: QueueMetrics | undefined;
  readonly #endSamples: (() => void) | undefined;
  readonly #pending = new Map<string, PendingStates>();
  readonly #failed = new Set<string>();
  readonly #running = new Set<MappingRun>();
  /**
   * The states of changed objects for which the mapping function took longer than its timeout. A retry for an object
   * calls the mapping function with the object's other states first.
   */
  readonly #late = new WeakSet<ApiObject>();
  readonly #stop = new AbortController();

  constructor(parts: MappingParts) {
    const { definition, clock, metrics } = parts;
    const { name: controller, concurrency, backoff, watches } = definition;
    this.#parts = parts;
    const { client, view, statusWrites } = parts;
    const { timeoutMs, model } = definition;
    const ownKindId = kindIdOf(model);
    this.#runParts = { clock, client, view, statusWrites, timeoutMs, ownKindId, stop: this.#stop.signal };
    if (watches.length > 0) {
      const queueName = { name: `${controller}-mappings`, controller };
      this.#metrics = new QueueMetrics(metrics, queueName);
      const gauges = { depth: () => this.#queue.length, running: () => this.#ages() };
      this.#endSamples = sampleQueue(metrics, queueName, gauges);
    }
    const observer = this.#metrics;
    const onReady = (): void => this.#workers.pump();
    this.#queue = new WorkQueue({ clock, backoff, onReady, ...(observer === undefined ? {} : { observer }) });
    this.#workers = new Workers({
      queue: this.#queue,
      concurrency,
      itemsPerTurn,
      process: (item) => this.#process(item),
    });
  }

  start(): void {
    this.#workers.start();
  }

  add({ source, states, priority, reason }: MappedEvent): void {
    const [object] = states;
    if (object === undefined) return;
    const number = this.#sources.get(source) ?? this.#sources.size;
    this.#sources.set(source, number);
    const id = `${number} ${formatKey(keyOf(object))}`;
    const pending = this.#pending.get(id) ?? new PendingStates(source);
    this.#pending.set(id, pending);
    pending.add(states, { priority, reason });
    this.#queue.add(id, { priority, reason });
  }

  /**
   * True when no mapping is ready or under way. Mappings that wait for their back-off do not count, just as delayed
   * keys do not count in a controller.
   */
  isIdle(): boolean {
    return this.#queue.length + this.#queue.processing === 0;
  }

  /** Aborts the mappings under way, and waits for them for at most the grace period. Waiting mappings are dropped. */
  async stop(graceMs: number): Promise<void> {
    this.#workers.stop();
    this.#stop.abort(new Error('the controller has stopped'));
    await endsWithin(this.#parts.clock, graceMs, this.#queue.shutdownWithDrain());
    this.#endSamples?.();
    if (this.#running.size === 0) return;
    for (const run of this.#running) run.leave(new Error('the controller has stopped'));
    this.#parts.logger.warn({ mappings: this.#running.size, graceMs }, 'mappings did not end within the grace period');
  }

  async #process({ key: id, attempts }: WorkItem): Promise<void> {
    const { clock } = this.#parts;
    const startedMs = clock.monotonicMs();
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    this.#failed.delete(id);
    const failures = pending === undefined ? [] : await this.#map(pending);
    if (pending === undefined || failures.length === 0 || this.#stop.signal.aborted) this.#queue.forget(id);
    else this.#retry({ id, attempt: attempts + 1 }, pending, failures);
    this.#metrics?.worked(clock.monotonicMs() - startedMs);
    this.#queue.done(id);
  }

  /**
   * Maps each state, and enqueues the returned keys, each key once. Returns the states that could not be mapped. After
   * a timeout, the remaining states wait for the retry: otherwise an object could occupy a worker for one timeout per
   * state.
   */
  async #map(pending: PendingStates): Promise<readonly Failure[]> {
    const enqueued = new Set<string>();
    const failures: Failure[] = [];
    const states = pending.states.toSorted((a, b) => Number(this.#late.has(a)) - Number(this.#late.has(b)));
    for (const [index, state] of states.entries()) {
      const run = new MappingRun(this.#runParts, pending.source);
      try {
        this.#enqueue(await this.#keysOf(run, state), pending, enqueued);
      } catch (error) {
        failures.push({ state, error });
        if (!run.isLeft) continue;
        this.#late.add(state);
        return [...failures, ...states.slice(index + 1).map((rest) => ({ state: rest, error }))];
      }
    }
    return failures;
  }

  #enqueue(keys: readonly MappedKey[], { priority, reason }: PendingStates, enqueued: Set<string>): void {
    for (const { key, priority: own = priority } of keys) {
      if (!enqueued.has(key)) this.#parts.queue.add(key, { priority: own, reason });
      enqueued.add(key);
    }
  }

  async #keysOf(run: MappingRun, state: ApiObject): Promise<readonly MappedKey[]> {
    this.#running.add(run);
    try {
      return (await run.keysOf(state)).flatMap((given) => this.#workKey(given, state));
    } finally {
      this.#running.delete(run);
    }
  }

  /**
   * Returns the key for a value that a mapping returned. For an invalid value, logs an error and returns no key. The
   * state is not mapped again, because the mapping would return the same value.
   */
  #workKey(given: string | ObjectKey | PrioritizedKey, state: ApiObject): readonly MappedKey[] {
    const { definition, logger } = this.#parts;
    try {
      if (!isPrioritized(given)) return [{ key: workKey(given, definition.model) }];
      const { key, priority } = given;
      if (!Number.isFinite(priority)) throw new RangeError(`the priority must be a number, not ${String(priority)}`);
      return [{ key: workKey(key, definition.model), priority }];
    } catch (err) {
      logger.error({ from: nameOf(state), err }, 'a mapping returned an invalid key; the key is skipped');
      return [];
    }
  }

  /**
   * Enqueues the states of an object whose mapping to keys failed, and the object's newer states, for a retry. Drops
   * the failed states when too many objects already wait for a retry.
   */
  #retry({ id, attempt }: { id: string; attempt: number }, failed: PendingStates, failures: readonly Failure[]): void {
    const { logger } = this.#parts;
    const isGivenUp = this.#failed.size >= maxFailed;
    const then = isGivenUp ? 'the event is dropped, because too many failed events wait' : 'trying again';
    for (const { state, error: err } of failures)
      logger.error({ from: nameOf(state), attempt, err }, `mapping an event to keys failed; ${then}`);
    if (isGivenUp) return this.#queue.forget(id);
    this.#failed.add(id);
    const pending = new PendingStates(failed.source);
    // The original order is restored, because it decides which states are kept when there are more than eight.
    const states = failed.states.filter((state) => failures.some((failure) => failure.state === state));
    pending.add(states, failed);
    const later = this.#pending.get(id);
    if (later !== undefined) pending.add(later.states, later);
    this.#pending.set(id, pending);
    this.#queue.addRateLimited(id);
  }

  #ages(): readonly number[] {
    const nowMs = this.#parts.clock.monotonicMs();
    return [...this.#running].map(({ sinceMs }) => nowMs - sinceMs);
  }
}

/** A key that a mapping returned. Without a priority, the key gets the priority of the event. */
interface MappedKey {
  readonly key: string;
  readonly priority?: number;
}

function isPrioritized(given: string | ObjectKey | PrioritizedKey): given is PrioritizedKey {
  return typeof given === 'object' && given !== null && 'key' in given;
}

interface Failure {
  readonly state: ApiObject;
  readonly error: unknown;
}

/** Returns the name of an object for logs. */
function nameOf(object: ApiObject): { readonly kind: string; readonly key: string } {
  return { kind: object.kind, key: formatKey(keyOf(object)) };
}
