import type { Clock, Timer } from '@homeostat/controller-runtime/api';

/** Between two looks: the shortest while there is news, and longer with every look that finds none. */
const minIntervalMs = 10;
const maxIntervalMs = 50;
const growth = 1.25;

/** After a look that failed; whoever looks reconnects. */
const failedIntervalMs = 500;

export interface ChangePollerOptions {
  /** The latest revision. */
  readonly read: () => Promise<number>;
  /** Known at the start: of it and those before nobody is told. */
  readonly revision: number;
  readonly clock: Clock;
}

/** Wakes listeners when there are new revisions, by looking for them; and nobody looks while nobody listens. */
export class ChangePoller {
  readonly #options: ChangePollerOptions;
  readonly #listeners = new Set<(revision: number) => void>();
  #revision: number;
  #intervalMs = minIntervalMs;
  #timer: Timer | undefined;
  #isPolling = false;
  #looking: Promise<void> = Promise.resolve();

  constructor(options: ChangePollerOptions) {
    this.#options = options;
    this.#revision = options.revision;
  }

  /** The listener must not throw. */
  subscribe(wake: (revision: number) => void): () => void {
    // A listener of its own for each call, even of the same function.
    const listener = (revision: number): void => wake(revision);
    this.#listeners.add(listener);
    if (!this.#isPolling) this.#poll();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
  }

  /** A revision that was learned without looking. */
  notice(revision: number): void {
    if (revision <= this.#revision) return;
    this.#revision = revision;
    this.#intervalMs = minIntervalMs;
    for (const listener of this.#listeners) listener(revision);
  }

  /** Resolves when the look under way, if any, is over. */
  async close(): Promise<void> {
    this.#listeners.clear();
    this.#stop();
    await this.#looking;
  }

  #stop(): void {
    this.#isPolling = false;
    this.#options.clock.clearTimeout(this.#timer);
  }

  #poll(): void {
    this.#isPolling = true;
    // A look from before everybody left may still be under way, and goes on from its end: one timer for both.
    this.#options.clock.clearTimeout(this.#timer);
    this.#timer = this.#options.clock.setTimeout(() => {
      this.#looking = this.#look();
    }, this.#intervalMs);
  }

  async #look(): Promise<void> {
    this.#intervalMs = Math.min(this.#intervalMs * growth, maxIntervalMs);
    try {
      this.notice(await this.#options.read());
    } catch {
      // A hint only: whoever waits for news sees at its next read what is wrong.
      this.#intervalMs = failedIntervalMs;
    }
    if (this.#isPolling) this.#poll();
  }
}
