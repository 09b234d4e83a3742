import type { Clock, Timer } from '../api/index.ts';
import { Backoff, type BackoffOptions } from './backoff.ts';
import { DelayHeap } from './delay-heap.ts';
import { keyStateOf, type KeyState, type QueueSizes } from './key-state.ts';
import { QueueEntry, type WorkItem } from './queue-entry.ts';
import type { QueueObserver } from './queue-observer.ts';
import { ReadyList } from './ready-list.ts';
import { isChange, noReasons, withReason, type Reason } from './reason.ts';

export interface AddOptions {
  /**
   * The priority: keys with a higher priority come first. Default 0; for `addAfter` and `addRateLimited` during a run
   * of the key, the priority of that run.
   */
  readonly priority?: number;
  /** The reason of the add. Default: `manual` for add, `timer` for addAfter, `retry` for addRateLimited. */
  readonly reason?: Reason;
}

export interface RetryOptions extends AddOptions {
  /** The last error, for {@link WorkQueue.snapshot}. */
  readonly error?: string;
  /** True to count no failure towards the retry limit; the back-off still applies. Default false. */
  readonly unlimited?: boolean;
}

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** Called each time a key becomes ready, so that the caller can call `get`. Must not throw. */
  readonly onReady?: () => void;
  readonly backoff?: BackoffOptions;
  /** The number of retries after which a failing key is parked. Default: no limit. */
  readonly retryLimit?: number;
  /** The observer of the queue, for metrics. Default: none. */
  readonly observer?: QueueObserver;
}

const manual: Reason = Object.freeze({ type: 'manual' });
const timer: Reason = Object.freeze({ type: 'timer' });
const retry: Reason = Object.freeze({ type: 'retry' });

/**
 * A keyed work queue: one entry for each key, and never two runs of a key at once. A key that is added while it is
 * being processed runs exactly once more. The order is by priority, then first in, first out; raising a key's priority
 * puts it at the end of its new level. Each failing key has its own back-off. A key that exceeds the retry limit is
 * parked: the key stays visible, and the next add whose reason is a change (event, owner, mapping, schedule, manual)
 * releases it.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #onReady: () => void;
  readonly #backoff: Backoff;
  readonly #retryLimit: number;
  readonly #observer: QueueObserver | undefined;
  readonly #entries = new Map<string, QueueEntry>();
  readonly #ready = new ReadyList();
  readonly #delayed = new DelayHeap();
  /** The entries whose `attempts` is not 0. */
  readonly #failing = new Set<QueueEntry>();
  readonly #parked = new Set<QueueEntry>();
  #processing = 0;
  #shutDown = false;
  #drained: (() => void)[] = [];
  #timer: Timer | undefined;
  #timerDueMs = Infinity;

  /** Throws the errors of {@link Backoff} for invalid options of the back-off. */
  constructor(options: WorkQueueOptions) {
    const { clock, onReady = () => {}, backoff = {}, retryLimit = Infinity } = options;
    this.#clock = clock;
    this.#onReady = onReady;
    this.#backoff = new Backoff(backoff);
    this.#retryLimit = retryLimit;
    this.#observer = options.observer;
  }

  /** The number of ready keys. Delayed and parked keys, and those that are being processed, are not counted. */
  get length(): number {
    return this.#ready.size;
  }

  /** The number of keys that are being processed. */
  get processing(): number {
    return this.#processing;
  }

  /** Makes a key ready. A ready key keeps its position in the queue, unless the call raises its priority. */
  add(key: string, options?: AddOptions): void {
    if (this.#shutDown) return;
    const entry = this.#entryOf(key);
    const reason = options?.reason ?? manual;
    if (isParked(entry) && !isChange(reason)) return;
    this.#note(entry, options?.priority ?? 0, reason);
    this.#release(entry);
    this.#makeReady(entry);
  }

  /**
   * Makes a key ready after a delay. If the key is delayed already, the earlier time counts. A ready key stays ready.
   * With a delay ≤ 0, the key becomes ready without a delay, as with `add`.
   */
  addAfter(key: string, delayMs: number, options?: AddOptions): void {
    const withDefaults = { priority: this.#requeuePriority(key, options), reason: options?.reason ?? timer };
    if (!(delayMs > 0)) return this.add(key, withDefaults);
    if (this.#shutDown) return;
    const entry = this.#entryOf(key);
    if (isParked(entry) && !isChange(withDefaults.reason)) return;
    this.#note(entry, withDefaults.priority, withDefaults.reason);
    this.#release(entry);
    this.#delay(entry, this.#clock.monotonicMs() + delayMs);
  }

  /**
   * Counts a failure, and adds the key after its back-off. When the failures exceed the retry limit, and no change has
   * arrived in the meantime, the key is parked instead, and the result is `parked`.
   */
  addRateLimited(key: string, options: RetryOptions = {}): 'delayed' | 'parked' {
    const entry = this.#entryOf(key);
    this.#observer?.retried();
    const counts = options.unlimited !== true;
    if (entry.attempts === 0) entry.failingMs = this.#clock.monotonicMs();
    entry.attempts += 1;
    this.#failing.add(entry);
    if (counts) entry.failures += 1;
    entry.lastError = options.error ?? entry.lastError;
    if (counts && entry.failures > this.#retryLimit) {
      this.park(key, options.error);
      return isParked(entry) ? 'parked' : 'delayed';
    }
    const { priority = this.#requeuePriority(key, options), reason = retry } = options;
    const delayMs = this.#backoff.delayMs(entry.attempts, this.#clock.monotonicMs());
    this.addAfter(key, delayMs, { priority, reason });
    return 'delayed';
  }

  /**
   * Parks a key until it is added with a change as the reason. The add resets the key's failures only if they exceed
   * the retry limit. If a change arrived during the key's run, the key is ready after `done`.
   */
  park(key: string, error?: string): void {
    const entry = this.#entryOf(key);
    entry.lastError = error ?? entry.lastError;
    if (entry.state === 'processing') {
      if (entry.next !== 'ready' || !entry.changed) entry.next = 'parked';
      else this.#startOver(entry);
      return;
    }
    this.#unlink(entry);
    this.#setParked(entry);
  }

  /** Forgets the failures of a key: its next back-off is the shortest again. */
  forget(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#setNew(entry);
    entry.lastError = undefined;
    if (entry.state === 'idle') this.#entries.delete(key);
  }

  /**
   * Returns the next ready key, for which the caller must call `done`; undefined if there is none, or after shutdown.
   */
  get(): WorkItem | undefined {
    if (this.#shutDown) return undefined;
    const entry = this.#ready.shift();
    if (entry === undefined) return undefined;
    const item = this.#itemOf(entry);
    entry.state = 'processing';
    entry.running = item;
    entry.reasons = noReasons;
    entry.priority = undefined;
    entry.changed = false;
    entry.next = 'nothing';
    this.#processing += 1;
    if (item.waitMs !== undefined) this.#observer?.taken(item.waitMs);
    return item;
  }

  /** Ends the run of a key. If the key was added meanwhile, it is queued again. Throws when the key has no run. */
  done(key: string): void {
    const entry = this.#entries.get(key);
    if (entry?.state !== 'processing') throw new Error(`done("${key}"): no run of this key is under way`);
    const { next } = entry;
    entry.running = undefined;
    entry.state = 'idle';
    this.#processing -= 1;
    if (next === 'ready' || (next === 'delayed' && entry.dueMs <= this.#clock.monotonicMs())) this.#makeReady(entry);
    else if (next === 'delayed') this.#delay(entry, entry.dueMs);
    else if (next === 'parked') this.#setParked(entry);
    else if (entry.attempts === 0) this.#entries.delete(key);
    if (this.#processing === 0) this.#releaseDrains();
  }

  /** Shuts down: new keys are ignored, `get` returns undefined, and calls of `shutdownWithDrain` resolve. */
  shutdown(): void {
    this.#close();
    this.#releaseDrains();
  }

  /** Shuts down like `shutdown`; resolves when no run is under way, or when `shutdown` is called afterwards. */
  async shutdownWithDrain(): Promise<void> {
    this.#close();
    if (this.#processing > 0) await new Promise<void>((resolve) => this.#drained.push(resolve));
  }

  /** Returns the number of keys in each state. */
  sizes(): QueueSizes {
    return {
      processing: this.#processing,
      parked: this.#parked.size,
      delayed: this.#delayed.size,
      ready: this.#ready.size,
    };
  }

  /** The number of keys that needed another run after a back-off, and have not succeeded since. */
  get failing(): number {
    return this.#failing.size;
  }

  /**
   * Returns the states of the first `limit` keys that wait: parked and failing keys first, then at most `usual` others,
   * the ready ones before the delayed ones. The time is O(limit), for any number of keys.
   */
  waiting(limit: number, usual: number): readonly KeyState[] {
    const wallMs = this.#clock.now() - this.#clock.monotonicMs();
    const found = new Set<QueueEntry>();
    const take = (entries: Iterable<QueueEntry>, most: number): void => {
      for (const entry of entries) {
        if (found.size >= most) break;
        if (entry.state !== 'processing' && entry.state !== 'idle') found.add(entry);
      }
    };
    for (const entries of [this.#parked, this.#failing]) take(entries, limit);
    const most = Math.min(limit, found.size + usual);
    for (const entries of [this.#ready.entries(), this.#delayed.entries()]) take(entries, most);
    return [...found].map((entry) => keyStateOf(entry, wallMs));
  }

  /**
   * Returns the states of the first `limit` keys (default all), for people and tests: first the keys that are being
   * processed, then parked keys, then delayed keys, then ready keys. Keys in the same state are in the order of their
   * first add. The time is O(keys).
   */
  snapshot(limit: number = Infinity): readonly KeyState[] {
    const wallMs = this.#clock.now() - this.#clock.monotonicMs();
    const states: KeyState[] = [];
    for (const state of ['processing', 'parked', 'delayed', 'ready']) {
      for (const entry of this.#entries.values()) {
        if (states.length >= limit) return states;
        if (entry.state === state) states.push(keyStateOf(entry, wallMs));
      }
    }
    return states;
  }

  /** Returns the state of one key; undefined when the queue does not have it, or keeps only its failures. */
  stateOf(key: string): KeyState | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.state === 'idle') return undefined;
    return keyStateOf(entry, this.#clock.now() - this.#clock.monotonicMs());
  }

  #itemOf(entry: QueueEntry): WorkItem {
    const { key, priority = 0, attempts, reasons } = entry;
    if (this.#observer === undefined) return { key, priority, attempts, reasons };
    return { key, priority, attempts, reasons, waitMs: this.#clock.monotonicMs() - entry.readyMs };
  }

  #setParked(entry: QueueEntry): void {
    entry.state = 'parked';
    this.#parked.add(entry);
  }

  #setNew(entry: QueueEntry): void {
    entry.attempts = 0;
    entry.failures = 0;
    this.#failing.delete(entry);
  }

  #close(): void {
    this.#shutDown = true;
    this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #entryOf(key: string): QueueEntry {
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = new QueueEntry(key);
      this.#entries.set(key, entry);
    }
    return entry;
  }

  /** Returns the priority for a requeue. A key that is requeued during its run keeps its priority. */
  #requeuePriority(key: string, options: AddOptions | undefined): number {
    return options?.priority ?? this.#entries.get(key)?.running?.priority ?? 0;
  }

  #note(entry: QueueEntry, priority: number, reason: Reason): void {
    entry.reasons = withReason(entry.reasons, reason);
    entry.changed ||= isChange(reason);
    if (entry.priority !== undefined && entry.priority >= priority) return;
    entry.priority = priority;
    if (entry.state !== 'ready') return;
    this.#ready.remove(entry);
    this.#ready.push(entry, priority);
  }

  /**
   * Releases a parked key. Resets its failures if they exceed the retry limit; otherwise the key keeps them.
   */
  #release(entry: QueueEntry): void {
    if (!isParked(entry)) return;
    this.#startOver(entry);
    this.#parked.delete(entry);
    if (entry.state === 'parked') entry.state = 'idle';
    else entry.next = 'nothing';
  }

  #startOver(entry: QueueEntry): void {
    if (entry.failures <= this.#retryLimit) return;
    this.#setNew(entry);
  }

  #makeReady(entry: QueueEntry): void {
    if (entry.state === 'processing') {
      entry.next = 'ready';
      return;
    }
    if (entry.state === 'ready') return;
    this.#unlink(entry);
    entry.state = 'ready';
    this.#ready.push(entry, entry.priority ?? 0);
    if (this.#observer !== undefined) {
      entry.readyMs = this.#clock.monotonicMs();
      this.#observer.added();
    }
    this.#onReady();
  }

  #delay(entry: QueueEntry, dueMs: number): void {
    if (entry.state === 'processing') {
      if (entry.next === 'ready' || (entry.next === 'delayed' && entry.dueMs <= dueMs)) return;
      entry.next = 'delayed';
      entry.dueMs = dueMs;
      return;
    }
    if (entry.state === 'ready' || (entry.state === 'delayed' && entry.dueMs <= dueMs)) return;
    entry.dueMs = dueMs;
    if (entry.state === 'delayed') this.#delayed.moveEarlier(entry);
    else this.#delayed.push(entry);
    entry.state = 'delayed';
    this.#arm();
  }

  #unlink(entry: QueueEntry): void {
    if (entry.state === 'ready') this.#ready.remove(entry);
    else if (entry.state === 'delayed') this.#delayed.remove(entry);
  }

  /**
   * Sets the timer of the queue for the key that is due first. When the timer fires for a key that is no longer
   * delayed, the timer is only set again for the next key.
   */
  #arm(): void {
    const dueMs = this.#delayed.first()?.dueMs;
    if (this.#shutDown || dueMs === undefined || (this.#timer !== undefined && this.#timerDueMs <= dueMs)) return;
    this.#clock.clearTimeout(this.#timer);
    this.#timerDueMs = dueMs;
    // The delay is rounded up to whole milliseconds, because a timer that fires too early would have to be set again.
    this.#timer = this.#clock.setTimeout(() => this.#onTimer(), Math.ceil(dueMs - this.#clock.monotonicMs()));
  }

  #onTimer(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonicMs();
    for (
      let entry = this.#delayed.first();
      entry !== undefined && entry.dueMs <= nowMs;
      entry = this.#delayed.first()
    ) {
      this.#makeReady(entry);
    }
    this.#arm();
  }

  #releaseDrains(): void {
    const waiting = this.#drained;
    this.#drained = [];
    for (const resolve of waiting) resolve();
  }
}

function isParked(entry: QueueEntry): boolean {
  return entry.state === 'parked' || (entry.state === 'processing' && entry.next === 'parked');
}
