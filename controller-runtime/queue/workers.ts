import type { WorkItem } from './queue-entry.ts';
import { WorkerPool } from './worker-pool.ts';
import type { WorkQueue } from './work-queue.ts';

export interface WorkersParts {
  readonly queue: WorkQueue;
  /** The maximum number of items that are processed at once; or a pool, whose limit several queues share. */
  readonly concurrency: number | WorkerPool;
  /**
   * The maximum number of items that are started in one turn of the event loop. Default 64, so that a million keys
   * without I/O do not block other work.
   */
  readonly itemsPerTurn?: number;
  /** Processes one item, and then calls `done` of the queue. Must not reject. */
  readonly process: (item: WorkItem) => Promise<void>;
}

/** The workers of a queue. Between `start` and `stop`, they process the ready keys. */
export class Workers {
  readonly #parts: WorkersParts;
  readonly #pool: WorkerPool;
  #leave: (() => void) | undefined;
  #isWorking = false;
  #itemsThisTurn = 0;

  constructor(parts: WorkersParts) {
    const { concurrency } = parts;
    this.#parts = parts;
    this.#pool = typeof concurrency === 'number' ? new WorkerPool(concurrency) : concurrency;
  }

  get isWorking(): boolean {
    return this.#isWorking;
  }

  start(): void {
    this.#isWorking = true;
    this.#leave ??= this.#pool.join(() => this.pump());
    this.pump();
  }

  /** Stops taking keys from the queue. Items that are being processed continue. */
  stop(): void {
    this.#isWorking = false;
    this.#leave?.();
    this.#leave = undefined;
  }

  /** Starts to process ready keys while workers are free. Call it when a key becomes ready. */
  pump(): void {
    const { queue, process, itemsPerTurn = 64 } = this.#parts;
    while (this.#isWorking && this.#itemsThisTurn < itemsPerTurn && this.#pool.hasRoom) {
      const item = queue.get();
      if (item === undefined) return;
      if (this.#itemsThisTurn === 0) setImmediate(() => this.#nextTurn());
      this.#itemsThisTurn += 1;
      this.#pool.run(() => process(item));
    }
  }

  #nextTurn(): void {
    this.#itemsThisTurn = 0;
    this.pump();
  }
}
