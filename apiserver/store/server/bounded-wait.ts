import type { Clock, Timer } from '@homeostat/controller-runtime/api';

/** What many may wait for, each for as long as it likes. */
export class BoundedWait {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves at the next release, and after `timeoutMs` at the latest; at once when that is not above 0. */
  async wait(timeoutMs: number): Promise<void> {
    if (timeoutMs <= 0) return;
    let timer: Timer | undefined;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        this.#waiting.delete(end);
        resolve();
      };
      this.#waiting.add(end);
      timer = this.#clock.setTimeout(end, timeoutMs);
    });
    this.#clock.clearTimeout(timer);
  }

  /** Ends the wait of all. */
  release(): void {
    for (const end of this.#waiting) end();
  }
}
