import { WorkQueue } from '@homeostat/controller-runtime';
import type { Clock } from '@homeostat/controller-runtime/api';
import { nextTurn } from '../turns/next-turn.ts';

export interface WorkLoopParts<T> {
  readonly clock: Clock;
  /** Returns the id of an item. Items with the same id count as the same item. */
  readonly idOf: (item: T) => string;
  /** Handles an item; rejects when it must be retried later. There is never more than one call at a time for an id. */
  readonly handle: (item: T) => Promise<void>;
  readonly onFailure: (item: T, error: unknown) => void;
}

export interface WorkLoopOptions {
  /** The number of items that are handled at the same time. Default 1. */
  readonly atOnce?: number;
}

/** The number of items whose handling starts in one turn of the event loop. Requests run between two turns. */
const handledPerTurn = 100;

/** The delay before a failed item is retried. It doubles with each failure in a row, and does not delay other items. */
const backoff = { baseMs: 1000, maxMs: 60_000 } as const;

/**
 * Handles the items of a work queue, first in, first out. An item that is added several times before its turn is
 * handled once.
 */
export class WorkLoop<T> {
  readonly #parts: WorkLoopParts<T>;
  readonly #atOnce: number;
  readonly #queue: WorkQueue;
  /** The items that wait, by their ids. The queue has the ids. */
  readonly #items = new Map<string, T>();
  #taken = 0;
  #isPumpDue = false;
  #isStopped = false;

  constructor(parts: WorkLoopParts<T>, { atOnce = 1 }: WorkLoopOptions = {}) {
    this.#parts = parts;
    this.#atOnce = atOnce;
    this.#queue = new WorkQueue({ clock: parts.clock, backoff, onReady: () => this.#pumpSoon() });
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  add(item: T): void {
    if (this.#isStopped) return;
    const id = this.#parts.idOf(item);
    this.#items.set(id, item);
    this.#queue.add(id);
  }

  /** True when no item is being handled, is waiting, or will be retried. */
  isIdle(): boolean {
    return this.#items.size === 0 && this.#queue.processing === 0;
  }

  /** Starts no further item, and resolves when the current ones are finished. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#queue.shutdownWithDrain();
  }

  /**
   * Starts the loop in a microtask, after the current synchronous code, because that code may add the same item again.
   */
  #pumpSoon(): void {
    if (this.#isPumpDue) return;
    this.#isPumpDue = true;
    queueMicrotask(() => this.#pump());
  }

  #pump(): void {
    this.#isPumpDue = false;
    while (this.#queue.processing < this.#atOnce) {
      const next = this.#queue.get();
      if (next === undefined) return;
      void this.#run(next.key);
      this.#taken += 1;
      if (this.#taken % handledPerTurn > 0) continue;
      this.#isPumpDue = true;
      void nextTurn('background').then(() => this.#pump());
      return;
    }
  }

  async #run(id: string): Promise<void> {
    const item = this.#items.get(id);
    this.#items.delete(id);
    if (item !== undefined) await this.#handle(id, item);
    this.#queue.done(id);
    this.#pumpSoon();
  }

  async #handle(id: string, item: T): Promise<void> {
    try {
      await this.#parts.handle(item);
      this.#queue.forget(id);
    } catch (error) {
      if (this.#isStopped) return;
      this.#parts.onFailure(item, error);
      // If the item was added again meanwhile, the newer form is kept.
      if (!this.#items.has(id)) this.#items.set(id, item);
      this.#queue.addRateLimited(id);
    }
  }
}
