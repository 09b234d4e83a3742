import { toError } from '../base/to-error.ts';

/** Bounds the number of calls at the same time; further calls wait in order. */
export class Slots {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Runs `work` when there is a slot. Rejects with the signal's reason when the signal aborts before there is a slot.
   */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#taken >= this.#most) await this.#wait(signal);
    else this.#taken += 1;
    try {
      return await work();
    } finally {
      this.#pass();
    }
  }

  /** Gives the slot to the next caller in line, or frees it. */
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
