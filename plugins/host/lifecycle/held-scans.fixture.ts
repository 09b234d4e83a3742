import type { Worker } from 'node:worker_threads';

/**
 * Intercepts the messages between stores that are opened from now on and their threads. It can delay the pages of
 * scans, like a slow disk; all other messages pass.
 */
export class HeldScans {
  readonly #held: (() => void)[] = [];
  #passing = Number.POSITIVE_INFINITY;

  constructor() {
    process.on('worker', this.#onWorker);
  }

  /** The number of pages that wait. */
  get waiting(): number {
    return this.#held.length;
  }

  /** Lets this many more pages pass, and holds back the rest. */
  holdAfter(pages: number): void {
    this.#passing = pages;
  }

  release(): void {
    this.#passing = Number.POSITIVE_INFINITY;
    for (const post of this.#held.splice(0)) post();
  }

  /** Lets all pages pass from now on. */
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
