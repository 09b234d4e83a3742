import type { Clock, Timer } from '@homeostat/controller-runtime/api';
import type { Store } from '../store/store.ts';
import { storeErrorCodeOf } from '../store/store-error.ts';

/** The time that a server without writes may take to notice that a newer program has upgraded its database. */
const intervalMs = 2_000;

export interface SchemaWatchOptions {
  readonly store: Pick<Store, 'checkSchema'>;
  readonly clock: Clock;
  /** Called once. */
  readonly onNewer: (error: unknown) => void;
}

/** Checks at intervals whether the database still has this program's tables. */
export class SchemaWatch {
  readonly #options: SchemaWatchOptions;
  #timer: Timer | undefined;
  #asking: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: SchemaWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = this.#options.clock.setTimeout(() => {
      this.#asking = this.#ask();
    }, intervalMs);
    this.#timer.unref?.();
  }

  /** Resolves when no check is running. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#options.clock.clearTimeout(this.#timer);
    await this.#asking;
  }

  async #ask(): Promise<void> {
    try {
      await this.#options.store.checkSchema();
    } catch (error) {
      // Reads and writes report all other failures.
      if (storeErrorCodeOf(error) === 'newer') return this.#options.onNewer(error);
    }
    if (!this.#isStopped) this.start();
  }
}
