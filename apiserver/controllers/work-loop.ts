import { WorkQueue } from '@homeostat/controller-runtime';
import type { Clock } from '@homeostat/controller-runtime/api';
import { nextTurn } from '../turns/next-turn.ts';

export interface WorkLoopParts<T> {
  readonly clock: Clock;
  /** Items with the same id are the same. */
  readonly idOf: (item: T) => string;
  /** Rejects when the item has to be tried again later. Never called twice at a time for one id. */
  readonly handle: (item: T) => Promise<void>;
  readonly onFailure: (item: T, error: unknown) => void;
}

export interface WorkLoopOptions {
  /** How many items are handled at the same time. Default 1. */
  readonly atOnce?: number;
}

/** Items handled in one step; requests get their turn after some. */
const handledPerTurn = 100;

/** How long a failed item waits: twice as long after each failure in a row. Other items do not wait for it. */
const backoff = { baseMs: 1000, maxMs: 60_000 } as const;

/** Handles the items of a work queue: each once however often it was added, first in first out. */
export class WorkLoop<T> {
  readonly #parts: WorkLoopParts<T>;
  readonly #atOnce: number;
  readonly #queue: WorkQueue;
  /** Items that wait, by their ids, which are the keys of the queue. */
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

  /** Nothing is under way, and nothing waits for another attempt. */
  isIdle(): boolean {
    return this.#items.size === 0 && this.#queue.processing === 0;
  }

  /** Finishes what is under way, and begins nothing more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#queue.shutdownWithDrain();
  }

  /** Not within the change that added an item: more changes of the same turn add it again. */
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
      // It may have been added again meanwhile.
      if (!this.#items.has(id)) this.#items.set(id, item);
      this.#queue.addRateLimited(id);
    }
  }
}
