import type { Clock } from '@homeostat/controller-runtime/api';
import { PeriodicTask } from '../base/periodic-task.ts';
import type { Store } from '../store/store.ts';
import { storeErrorCodeOf } from '../store/store-error.ts';

/**
 * The interval of the checks. A server without writes notices within this time that a newer program has upgraded its
 * database.
 */
const intervalMs = 2_000;

export interface SchemaWatchParts {
  readonly store: Pick<Store, 'checkSchema'>;
  readonly clock: Clock;
  /** Called once, when a newer program has upgraded the database. */
  readonly onNewer: (error: unknown) => void;
}

/** Checks at intervals that the database still has the tables of this version of the program. */
export class SchemaWatch {
  readonly #parts: SchemaWatchParts;
  readonly #checks: PeriodicTask;

  constructor(parts: SchemaWatchParts) {
    this.#parts = parts;
    this.#checks = new PeriodicTask({ clock: parts.clock, intervalMs, run: () => this.#check() });
  }

  start(): void {
    this.#checks.start();
  }

  /** Ends the checks. Resolves when no check is running. */
  async stop(): Promise<void> {
    await this.#checks.stop();
  }

  async #check(): Promise<void> {
    try {
      await this.#parts.store.checkSchema();
    } catch (error) {
      // Only a database that a newer program has upgraded matters here. After any other failure of this check, the
      // reads and writes of requests fail, too, and report it.
      if (storeErrorCodeOf(error) !== 'newer') return;
      void this.#checks.stop();
      this.#parts.onNewer(error);
    }
  }
}
