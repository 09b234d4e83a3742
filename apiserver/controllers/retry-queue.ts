import type { Clock, Timer } from '@homeostat/controller-runtime/api';
import { nextTurn } from '../turns/next-turn.ts';

export interface RetryQueueOptions<T> {
  readonly clock: Clock;
  /** Items of one id are the same. */
  readonly idOf: (item: T) => string;
  /** Handled at the same time. */
  readonly atOnce: number;
  /** Rejects when it has to be tried again later. May be called for an item while it is under way for the same. */
  readonly handle: (item: T) => Promise<void>;
  readonly onFailure: (item: T, error: unknown) => void;
}

/** Handled in one turn of the event loop; requests get theirs in between. */
const handledPerTurn = 100;

/** After a failure; doubles up to the longest while failures go on. */
const firstRetryMs = 1000;
const longestRetryMs = 60_000;

/** What is to be looked at, each once however often it was added; the first that came is the first that goes. */
export class RetryQueue<T> {
  readonly #options: RetryQueueOptions<T>;
  readonly #waiting = new Map<string, T>();
  readonly #failed = new Map<string, T>();
  /** Ids of what failed, and is tried again now. */
  readonly #retried = new Set<string>();
  readonly #workers = new Set<Promise<void>>();
  #places = this.#waiting.entries();
  #busy = 0;
  #taken = 0;
  /** Until the next turn of the event loop. */
  #pause: Promise<void> | undefined;
  #retry: Timer | undefined;
  #retryMs = firstRetryMs;
  #stopped = false;

  constructor(options: RetryQueueOptions<T>) {
    this.#options = options;
  }

  get isStopped(): boolean {
    return this.#stopped;
  }

  add(item: T): void {
    if (this.#stopped) return;
    this.#waiting.set(this.#options.idOf(item), item);
    this.#begin();
  }

  /** Nothing is under way, and nothing waits for another attempt. */
  isIdle(): boolean {
    return this.#workers.size === 0 && this.#retry === undefined;
  }

  /** What is under way is finished; what waits is not begun. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#options.clock.clearTimeout(this.#retry);
    this.#retry = undefined;
    await Promise.all(this.#workers);
  }

  #begin(): void {
    const free = this.#workers.size - this.#busy;
    if (this.#stopped || free >= this.#waiting.size || this.#workers.size >= this.#options.atOnce) return;
    const worker = this.#work().finally(() => {
      this.#workers.delete(worker);
      // It may have come between the last look and this.
      this.#begin();
    });
    this.#workers.add(worker);
  }

  async #work(): Promise<void> {
    // Not within the change that brought it about.
    await Promise.resolve();
    for (;;) {
      if (this.#pause !== undefined) await this.#pause;
      const next = this.#stopped ? undefined : this.#take();
      if (next === undefined) break;
      this.#busy += 1;
      await this.#handle(...next);
      this.#busy -= 1;
    }
    if (this.#failed.size + this.#retried.size === 0) this.#retryMs = firstRetryMs;
  }

  #take(): [id: string, item: T] | undefined {
    let next = this.#places.next();
    if (next.done === true) {
      // What came after an iterator had ended needs another one.
      this.#places = this.#waiting.entries();
      next = this.#places.next();
    }
    if (next.done === true) return undefined;
    this.#waiting.delete(next.value[0]);
    this.#taken += 1;
    if (this.#taken % handledPerTurn === 0) this.#pause = this.#pauseForOthers();
    return next.value;
  }

  async #pauseForOthers(): Promise<void> {
    await nextTurn('background');
    this.#pause = undefined;
  }

  async #handle(id: string, item: T): Promise<void> {
    try {
      await this.#options.handle(item);
    } catch (error) {
      if (this.#stopped) return;
      this.#options.onFailure(item, error);
      this.#failed.set(id, item);
      this.#retryLater();
    } finally {
      this.#retried.delete(id);
    }
  }

  #retryLater(): void {
    if (this.#retry !== undefined) return;
    this.#retry = this.#options.clock.setTimeout(() => {
      this.#retry = undefined;
      const items = [...this.#failed];
      this.#failed.clear();
      for (const [id, item] of items) {
        this.#retried.add(id);
        this.add(item);
      }
    }, this.#retryMs);
    this.#retry.unref?.();
    this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs);
  }
}
