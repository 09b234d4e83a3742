import type { Clock, Logger } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import { endsWithin } from '../clock/sleep.ts';
import { EventWriter } from '../events/event-recorder.ts';
import type { KeyState } from '../queue/key-state.ts';
import type { WorkItem } from '../queue/queue-entry.ts';
import type { Reason } from '../queue/reason.ts';
import type { WorkerPool } from '../queue/worker-pool.ts';
import { WorkQueue } from '../queue/work-queue.ts';
import { Workers } from '../queue/workers.ts';
import type { ControllerDefinition } from './definition/controller-definition.ts';
import { EffectMemory } from './effects/effect-memory.ts';
import type { EndedRun, RunObserver } from './observe/run-observer.ts';
import type { ControllerReporter, ReportedController } from './report/controller-reporter.ts';
import { ConflictWaits } from './run/conflict-waits.ts';
import { HotLoopDetector } from './run/hot-loop.ts';
import { ObjectSlots } from './run/object-slots.ts';
import type { Outcome } from './run/outcome.ts';
import { ReconcileRun, type RunTask, type RunParts } from './run/reconcile-run.ts';
import { settleRun } from './run/settle-run.ts';
import { childLogger } from './sources/child-logger.ts';

export interface ShardParts {
  readonly definition: ControllerDefinition;
  /** The client of the runs, for reads and writes. */
  readonly client: Client;
  readonly clock: Clock;
  /** A logger that adds the controller to each line. */
  readonly logger: Logger;
  readonly uuid: () => string;
  /** The parts that the runs of all shards of a controller share. */
  readonly shared: Pick<RunParts, 'view' | 'related' | 'ownKind' | 'statusWrites' | 'finalizerWrites' | 'quietWrites'>;
  readonly observer: RunObserver;
  readonly pool: WorkerPool;
  /** Starts the reporting of the shard; undefined when its state and runs are not stored. */
  readonly follow: ((controller: ReportedController) => ControllerReporter) | undefined;
  /** Returns the reason why the controller can no longer reconcile keys, if there is one. */
  readonly healthProblem: () => string | undefined;
}

/**
 * A report lists at most this number of keys that wait in the queue and have not failed. More of these keys would not
 * help readers, but would be most of the work for a report.
 */
const usualKeys = 20;

/**
 * A set of a controller's keys, with its queue, workers and runs: the keys that this process reconciles under one
 * lease, or all keys of the controller. A shard can be started only once.
 */
export class Shard {
  readonly queue: WorkQueue;
  readonly #parts: ShardParts;
  readonly #waits: ConflictWaits;
  readonly #runParts: RunParts;
  readonly #workers: Workers;
  readonly #recorder: EventWriter;
  readonly #reporter: ControllerReporter | undefined;
  /** The runs under way, by their keys. */
  readonly #running = new Map<string, ReconcileRun>();
  /** Keys whose runs have exceeded their timeout. */
  readonly #overdue = new Set<string>();
  #effects: EffectMemory | undefined;
  #isAbandoned = false;

  constructor(parts: ShardParts) {
    const { client, clock, definition, logger, observer, pool, shared } = parts;
    const { backoff, retryLimit } = definition;
    this.#parts = parts;
    this.#recorder = new EventWriter({ ...parts, component: definition.name });
    this.#reporter = parts.follow?.(this.#reported());
    const queueObserver = observer.queueFor(() => this.#reporter?.touch());
    const onReady = (): void => this.#workers.pump();
    this.queue = new WorkQueue({ clock, backoff, retryLimit, observer: queueObserver, onReady });
    this.#workers = new Workers({ queue: this.queue, concurrency: pool, process: (item) => this.#process(item) });
    const reason: Reason = { type: 'retry' };
    this.#waits = new ConflictWaits((key, priority) => this.queue.add(key, { priority, reason }));
    this.#runParts = {
      ...shared,
      definition,
      client,
      clock,
      effects: () => (this.#effects ??= new EffectMemory({ ...parts, logger })),
      hotLoop: new HotLoopDetector(definition.hotLoopRunsPerMinute),
      slots: slotsOf(definition, clock),
      logsWrites: this.#reporter !== undefined,
      events: this.#recorder,
      onTimeout: (run, error) => this.#onTimeout(run, error),
    };
    this.#reporter?.touch();
  }

  /** Starts to reconcile keys. */
  start(): void {
    this.#workers.start();
  }

  /** Called when a cache has delivered the state of an object. */
  readonly observed: ConflictWaits['observed'] = (object) => this.#waits.observed(object);

  /**
   * True when the shard has been started, no key is ready, being processed or waiting after a conflict, no event is
   * being written, and no expired record of an effect is being deleted. Delayed keys do not count.
   */
  isIdle(): boolean {
    const { length, processing } = this.queue;
    return (
      this.#workers.isWorking &&
      length + processing + this.#waits.size === 0 &&
      this.#recorder.isIdle() &&
      this.#effects?.isIdle() !== false
    );
  }

  /** Keys whose runs have exceeded their timeout and have not ended. */
  get overdue(): ReadonlySet<string> {
    return this.#overdue;
  }

  /**
   * Prevents further runs, signals to the runs under way that they should end, and waits until they have ended or the
   * shard is stopped. Until then, no other process may take the shard. After `graceMs`, it logs a warning and continues
   * to wait.
   */
  async drain(graceMs: number): Promise<void> {
    const { logger } = this.#parts;
    if (await this.#drainWithin(graceMs)) return;
    logger.warn(
      { keys: [...this.#running.keys()], graceMs },
      'runs did not end within the grace period; the shard stays in this process until these runs have ended',
    );
    await this.queue.shutdownWithDrain();
  }

  /**
   * Stops the shard. When runs take longer than the grace period, their requests are aborted and the runs are
   * abandoned: their outcome no longer counts. Settles when everything except these runs has stopped.
   */
  async stop(graceMs: number): Promise<void> {
    if (!(await this.#drainWithin(graceMs))) this.#abandon(graceMs);
    await this.#effects?.stop();
    await this.#reporter?.close();
    await this.#recorder.close();
  }

  /**
   * Prevents further runs, signals to the runs under way that they should end, and waits for them, for at most the
   * grace period. Returns false when runs are still under way after that.
   */
  async #drainWithin(graceMs: number): Promise<boolean> {
    for (const run of this.#running.values()) run.stop(new Error('the controller is stopping'));
    await endsWithin(this.#parts.clock, graceMs, this.queue.shutdownWithDrain());
    this.#workers.stop();
    return this.#running.size === 0;
  }

  #abandon(graceMs: number): void {
    this.#isAbandoned = true;
    this.#parts.logger.warn(
      { keys: [...this.#running.keys()], graceMs },
      'runs did not end within the grace period; they are abandoned',
    );
    for (const run of this.#running.values()) run.abandon(new Error('the controller has stopped'));
    this.queue.shutdown();
  }

  async #process(item: WorkItem): Promise<void> {
    const { key } = item;
    const { observer, shared, uuid } = this.#parts;
    // The key runs now, so it no longer waits for the cache: the event for which it waited must not cause another run.
    this.#waits.cancel(key);
    const reconcileID = uuid();
    const logger = childLogger(this.#parts.logger, { key, reconcileID });
    const run = new ReconcileRun(this.#runParts, { item, reconcileID, logger });
    this.#running.set(key, run);
    const { outcome, record } = await observer.observe({ item, reconcileID }, () => run.run());
    this.#running.delete(key);
    this.#overdue.delete(key);
    if (!this.#isAbandoned) {
      settleRun({ queue: this.queue, view: shared.view, waits: this.#waits, logger }, item, outcome);
      this.#queueNextTime(key, outcome);
    }
    this.queue.done(key);
    if (this.#reporter !== undefined && !this.#isAbandoned) this.#report(item, run, { outcome, record });
  }

  #report(item: WorkItem, { object, writes }: ReconcileRun, { outcome, record }: EndedRun): void {
    const error = 'error' in outcome ? outcome.error : undefined;
    const nextTime = (): number | undefined => this.queue.stateOf(item.key)?.nextTime;
    this.#reporter?.ended({ item, record, error, object, writes, nextTime });
  }

  #reported(): ReportedController {
    return {
      sizes: () => this.queue.sizes(),
      failing: () => this.queue.failing,
      keys: (limit) => this.#firstKeys(limit),
      healthProblem: this.#parts.healthProblem,
    };
  }

  /**
   * Returns at most `limit` keys: first those that are being reconciled, then those that wait. The cost depends only on
   * `limit`, not on the number of keys.
   */
  #firstKeys(limit: number): readonly KeyState[] {
    const running = Array.from(this.#running.keys()).slice(0, limit);
    const states = running.flatMap((key) => this.queue.stateOf(key) ?? []);
    return [...states, ...this.queue.waiting(limit - states.length, usualKeys)];
  }

  /**
   * Queues the key for the next slot of its schedule. If the controller also runs each object at an interval, queues
   * the key for the end of this interval, too, after a successful run that returned no delay.
   */
  #queueNextTime(key: string, { kind }: Outcome): void {
    const delays = this.#runParts.slots?.delays(key);
    if (delays === undefined) return;
    const { everyMs, slotMs } = delays;
    if (everyMs !== undefined && kind === 'success') this.queue.addAfter(key, everyMs, { reason: { type: 'timer' } });
    // After a failed run, a slot that is already due waits for the back-off of the key.
    const canRun = slotMs !== 0 || kind === 'success' || kind === 'after' || kind === 'terminal';
    if (slotMs !== undefined && canRun) this.queue.addAfter(key, slotMs, { priority: 0, reason: { type: 'schedule' } });
  }

  /**
   * Called when a run exceeds its timeout. Until the run ends, no other run of its key starts, and the run counts
   * toward the controller's `concurrency`. A run may never end.
   */
  #onTimeout({ item: { key, attempts }, logger }: RunTask, err: Error): void {
    this.#overdue.add(key);
    this.#parts.observer.timedOut();
    logger.error({ attempt: attempts + 1, err }, 'a run outlasted its timeout; its key waits until the run has ended');
    const problem = this.#parts.healthProblem();
    if (problem !== undefined) this.#parts.logger.error({}, problem);
  }
}

function slotsOf({ model, finalizer: manager, timing }: ControllerDefinition, clock: Clock): ObjectSlots | undefined {
  return timing === undefined ? undefined : new ObjectSlots({ model, manager, timing, clock });
}
