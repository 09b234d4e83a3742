import { toError } from '../base/to-error.ts';

/**
 * Limits the number of calls that run at the same time. Further calls wait, and start in the order in which they came.
 */
export class Slots {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Runs `work` as soon as a slot is free. Rejects with the signal's reason when the signal aborts before that. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#taken >= this.#most) await this.#wait(signal);
    else this.#taken += 1;
    try {
      return await work();
    } finally {
      this.#pass();
    }
  }

  /**
   * Runs at the end of each call. Starts the call that has waited longest; if no call waits, decreases the number of
   * running calls.
   */
  #pass(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#taken -= 1;
    else {
      this.#waiting.delete(next);
      next();
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const take = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.delete(take);
        reject(toError(signal.reason));
      };
      if (signal.aborted) return leave();
      this.#waiting.add(take);
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}
