import type { Clock, Timer } from '@homeostat/controller-runtime/api';

export interface PeriodicTaskParts {
  readonly clock: Clock;
  /** The time from the start to the first run, and from the end of each run to the start of the next run. */
  readonly intervalMs: number | (() => number);
  /** Never rejects. */
  readonly run: () => void | Promise<void>;
}

/** Repeats a task until it is stopped, one run at a time. Its timer does not keep the process alive. */
export class PeriodicTask {
  readonly #parts: PeriodicTaskParts;
  #timer: Timer | undefined;
  #running: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(parts: PeriodicTaskParts) {
    this.#parts = parts;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  start(): void {
    if (this.#isStopped) return;
    const { clock, intervalMs } = this.#parts;
    this.#timer = clock.setTimeout(
      () => {
        this.#running = this.#runOnce();
      },
      typeof intervalMs === 'number' ? intervalMs : intervalMs(),
    );
    this.#timer.unref?.();
  }

  /** Starts no further run, and resolves when the current run has ended. The task cannot be started again. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#parts.clock.clearTimeout(this.#timer);
    await this.#running;
  }

  async #runOnce(): Promise<void> {
    await this.#parts.run();
    this.start();
  }
}
