import type { Clock, Timer } from '@homeostat/controller-runtime/api';
import { idOf } from './owner-graph.ts';
import type { Node } from './owner-graph.ts';

export interface NodeQueueOptions {
  readonly clock: Clock;
  /** Rejects when it has to be tried again later. May be called for a node while it is under way for the same. */
  readonly handle: (node: Node) => Promise<void>;
  readonly onFailure: (node: Node, error: unknown) => void;
}

/** Handled at the same time: writes that wait together are committed together, and others write as well. */
const handledAtOnce = 100;

/** Handled in one turn of the event loop; requests get theirs in between. */
const handledPerTurn = 100;

/** After a failure; doubles up to the longest while failures go on. */
const firstRetryMs = 1000;
const longestRetryMs = 60_000;

/** Nodes to look at, each once however often it was added; the first that came is the first that goes. */
export class NodeQueue {
  readonly #options: NodeQueueOptions;
  readonly #waiting = new Map<string, Node>();
  readonly #failed = new Map<string, Node>();
  readonly #workers = new Set<Promise<void>>();
  #places = this.#waiting.entries();
  #busy = 0;
  #taken = 0;
  /** Until the next turn of the event loop. */
  #pause: Promise<void> | undefined;
  #retry: Timer | undefined;
  #retryMs = firstRetryMs;
  #stopped = false;

  constructor(options: NodeQueueOptions) {
    this.#options = options;
  }

  get isStopped(): boolean {
    return this.#stopped;
  }

  add(node: Node): void {
    if (this.#stopped) return;
    this.#waiting.set(idOf(node), node);
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
    if (this.#stopped || free >= this.#waiting.size || this.#workers.size >= handledAtOnce) return;
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
      const node = this.#stopped ? undefined : this.#take();
      if (node === undefined) break;
      this.#busy += 1;
      await this.#handle(node);
      this.#busy -= 1;
    }
    if (this.#failed.size === 0) this.#retryMs = firstRetryMs;
  }

  #take(): Node | undefined {
    let next = this.#places.next();
    if (next.done === true) {
      // What came after an iterator had ended needs another one.
      this.#places = this.#waiting.entries();
      next = this.#places.next();
    }
    if (next.done === true) return undefined;
    const [id, node] = next.value;
    this.#waiting.delete(id);
    this.#taken += 1;
    if (this.#taken % handledPerTurn === 0) this.#pause = this.#nextTurn();
    return node;
  }

  async #nextTurn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#pause = undefined;
  }

  async #handle(node: Node): Promise<void> {
    try {
      await this.#options.handle(node);
    } catch (error) {
      if (this.#stopped) return;
      this.#options.onFailure(node, error);
      this.#failed.set(idOf(node), node);
      this.#retryLater();
    }
  }

  #retryLater(): void {
    if (this.#retry !== undefined) return;
    this.#retry = this.#options.clock.setTimeout(() => {
      this.#retry = undefined;
      const nodes = [...this.#failed.values()];
      this.#failed.clear();
      for (const node of nodes) this.add(node);
    }, this.#retryMs);
    this.#retry.unref?.();
    this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs);
  }
}
