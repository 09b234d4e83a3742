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
  #handled = 0;
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
    if (this.#stopped || this.#workers.size >= Math.min(handledAtOnce, this.#waiting.size)) return;
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
    for (const [id, node] of this.#waiting) {
      if (this.#stopped) return;
      this.#waiting.delete(id);
      this.#handled += 1;
      if (this.#handled % handledPerTurn === 0) await new Promise((resolve) => setImmediate(resolve));
      await this.#handle(node);
    }
    if (this.#failed.size === 0) this.#retryMs = firstRetryMs;
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
