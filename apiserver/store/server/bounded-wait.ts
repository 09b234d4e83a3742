import type { Clock, Timer } from '@homeostat/controller-runtime/api';

/** A condition for which many callers can wait, each with its own time limit. */
export class BoundedWait {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Resolves at the next call of {@link release}, or after `timeoutMs`, whichever comes first; immediately when
   * `timeoutMs` is not above 0.
   */
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

  /** Resolves all pending calls of {@link wait}. */
  release(): void {
    for (const end of this.#waiting) end();
  }
}
