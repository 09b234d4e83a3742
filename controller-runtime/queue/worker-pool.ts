import PQueue from 'p-queue';

/** Limits the number of items that the workers of several queues process at once. */
export class WorkerPool {
  readonly #concurrency: number;
  readonly #pool: PQueue;
  #pumps: (() => void)[] = [];

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
    this.#pool = new PQueue({ concurrency });
    this.#pool.on('next', () => this.#pumpAll());
  }

  /** True when the processing of another item may begin. */
  get hasRoom(): boolean {
    return this.#pool.pending + this.#pool.size < this.#concurrency;
  }

  run(task: () => Promise<void>): void {
    void this.#pool.add(task);
  }

  /** Calls `pump` each time the processing of an item has ended. Returns a function that ends these calls. */
  join(pump: () => void): () => void {
    this.#pumps.push(pump);
    return () => void (this.#pumps = this.#pumps.filter((other) => other !== pump));
  }

  /**
   * Calls the function that each queue passed to {@link join}. Each time, a different queue is the first, so that a
   * queue with many items does not block the others.
   */
  #pumpAll(): void {
    const pumps = this.#pumps;
    if (pumps.length > 1) this.#pumps = [...pumps.slice(1), ...pumps.slice(0, 1)];
    for (const pump of pumps) pump();
  }
}
