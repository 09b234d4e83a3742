import type { Clock } from '@homeostat/controller-runtime/api';
import type { HealthCheck } from '../http/pages/health.ts';
import { storeErrorCodeOf } from '../store/store-error.ts';
import { toError } from '../base/to-error.ts';

/** A failure is remembered for this long, or until the next success: only another attempt can show that it is over. */
const memoryMs = 10_000;

/** Failures that last until the process is restarted; with `newer`, after an update of the package. */
const lasting: ReadonlySet<unknown> = new Set(['crashed', 'diverged', 'corrupt', 'newer']);

/** `follow` reads the changes of other writers, which may fail forever although the database's revision can be read. */
type Use = 'read' | 'follow' | 'write';

/** The problem of the last read or write of the database. */
export class DatabaseHealth implements HealthCheck {
  readonly name = 'database';
  readonly #clock: Clock;
  readonly #failures = new Map<Use, { readonly problem: string; readonly atMs: number; isLasting: boolean }>();

  /** Resolves with an error when a newer program has upgraded the database. */
  readonly outdated: Promise<Error>;
  #becomeOutdated: (error: Error) => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.outdated = new Promise((resolve) => (this.#becomeOutdated = resolve));
  }

  /**
   * Reports the result of a use; `error` undefined: success. Errors that only the request itself causes are ignored.
   */
  report(what: Use, error: unknown): void {
    const code = storeErrorCodeOf(error);
    if (error === undefined) this.#failures.delete(what);
    if (error === undefined || code === undefined || code === 'refused' || code === 'closed') return;
    if (code === 'newer') this.#becomeOutdated(toError(error));
    const problem = `cannot ${what}: ${toError(error).message}`;
    this.#failures.set(what, { problem, atMs: this.#clock.monotonicMs(), isLasting: lasting.has(code) });
  }

  check(): string | undefined {
    const nowMs = this.#clock.monotonicMs();
    const present = [...this.#failures.values()].filter(({ atMs, isLasting }) => isLasting || nowMs - atMs < memoryMs);
    return present.length === 0 ? undefined : present.map(({ problem }) => problem).join('; ');
  }

  /** The same check, but only for problems that need a restart. */
  get lasting(): HealthCheck {
    const check = (): string | undefined => [...this.#failures.values()].find(({ isLasting }) => isLasting)?.problem;
    return { name: this.name, check };
  }
}
