import PQueue from 'p-queue';
import type { WorkItem } from './queue-entry.ts';
import type { WorkQueue } from './work-queue.ts';

export interface WorkersOptions {
  readonly queue: WorkQueue;
  /** Items being processed at once. */
  readonly concurrency: number;
  /**
   * Items in a row before the event loop gets a turn. Default 64, so that a million keys without I/O do not starve
   * other work.
   */
  readonly itemsPerTurn?: number;
  /** Processes one item, and gives it back with `done`. Must not reject. */
  readonly process: (item: WorkItem) => Promise<void>;
}

/** The workers of a queue: they take its ready keys, between `start` and `stop`. */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #pool: PQueue;
  #isWorking = false;
  #itemsThisTurn = 0;

  constructor(options: WorkersOptions) {
    this.#options = options;
    this.#pool = new PQueue({ concurrency: options.concurrency });
    this.#pool.on('next', () => this.pump());
  }

  get isWorking(): boolean {
    return this.#isWorking;
  }

  start(): void {
    this.#isWorking = true;
    this.pump();
  }

  /** Takes no more keys. Items being processed go on. */
  stop(): void {
    this.#isWorking = false;
  }

  /** Gives ready keys to the free workers. Call it when a key becomes ready. */
  pump(): void {
    const { queue, concurrency, process, itemsPerTurn = 64 } = this.#options;
    while (
      this.#isWorking &&
      this.#itemsThisTurn < itemsPerTurn &&
      this.#pool.pending + this.#pool.size < concurrency
    ) {
      const item = queue.get();
      if (item === undefined) return;
      if (this.#itemsThisTurn === 0) setImmediate(() => this.#nextTurn());
      this.#itemsThisTurn += 1;
      void this.#pool.add(() => process(item));
    }
  }

  #nextTurn(): void {
    this.#itemsThisTurn = 0;
    this.pump();
  }
}
