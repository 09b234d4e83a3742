import { TooManyLogins } from './login-throttle.ts';

/**
 * The number of hashes computed at the same time: each takes 32 MiB, and one of the four threads that files and DNS
 * need, too.
 */
const atOnce = 2;

/** Requests that wait for a hash; further ones are refused. */
const maxWaiting = 64;

/** Computes few hashes at a time, in the order of the requests. */
export class HashGate {
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /** Calls `work` at its turn. @throws TooManyLogins when too many requests wait */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= atOnce) {
      if (this.#waiting.length >= maxWaiting) throw new TooManyLogins(1);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      // The next request takes over the place of this one.
      else next();
    }
  }
}
