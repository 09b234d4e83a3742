import type { Worker } from 'node:worker_threads';

/**
 * Intercepts the messages to database threads, for stores that are opened after its creation. It can hold back the
 * requests for pages of scans, so that these pages arrive late, as from a slow disk. All other messages pass.
 */
export class HeldScans {
  readonly #held: (() => void)[] = [];
  #passing = Number.POSITIVE_INFINITY;

  constructor() {
    process.on('worker', this.#onWorker);
  }

  /** The number of requests for pages that are held back now. */
  get waiting(): number {
    return this.#held.length;
  }

  /** Lets the next `pages` pages pass, and holds back all later ones. */
  holdAfter(pages: number): void {
    this.#passing = pages;
  }

  release(): void {
    this.#passing = Number.POSITIVE_INFINITY;
    for (const post of this.#held.splice(0)) post();
  }

  /** Stops the interception: all pages pass from now on. */
  dispose(): void {
    process.off('worker', this.#onWorker);
    this.release();
  }

  readonly #onWorker = (worker: Worker): void => {
    const post = worker.postMessage.bind(worker);
    worker.postMessage = (message: unknown, ...rest: unknown[]): void => {
      const send = (): void => Reflect.apply(post, worker, [message, ...rest]);
      if (this.#holds(message)) this.#held.push(send);
      else send();
    };
  };

  #holds(message: unknown): boolean {
    const { type } = message as { readonly type: string };
    if (type !== 'rows') return false;
    this.#passing -= 1;
    return this.#passing < 0;
  }
}
