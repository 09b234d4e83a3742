import type { Clock } from '@homeostat/controller-runtime/api';
import type { HealthCheck } from '../http/pages/health.ts';
import { storeErrorCodeOf } from '../store/store-error.ts';

/** A failure is remembered for so long, or until something goes well: only who is asked again can tell that it is over. */
const memoryMs = 10_000;

/** What does not pass by itself: the process has to be restarted, after an update where the database is `newer`. */
const lasting: ReadonlySet<unknown> = new Set(['crashed', 'diverged', 'corrupt', 'newer']);

/** `follow`: reading what others have written, which may fail for ever where the database's revision can be read. */
type Use = 'read' | 'follow' | 'write';

/** What was wrong when the database was last written, or read. */
export class DatabaseHealth implements HealthCheck {
  readonly name = 'database';
  readonly #clock: Clock;
  readonly #failures = new Map<Use, { readonly problem: string; readonly atMs: number; isLasting: boolean }>();

  /** Resolves with the error that says that a newer program has upgraded the database. */
  readonly outdated: Promise<Error>;
  #becomeOutdated: (error: Error) => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.outdated = new Promise((resolve) => (this.#becomeOutdated = resolve));
  }

  /** `error` undefined: it went well. What only this request is to blame for says nothing of the database. */
  report(what: Use, error: unknown): void {
    const code = storeErrorCodeOf(error);
    if (error === undefined) this.#failures.delete(what);
    if (error === undefined || code === undefined || code === 'refused' || code === 'closed') return;
    if (code === 'newer') this.#becomeOutdated(error as Error);
    const problem = `cannot ${what}: ${(error as Error).message}`;
    this.#failures.set(what, { problem, atMs: this.#clock.monotonicMs(), isLasting: lasting.has(code) });
  }

  check(): string | undefined {
    const nowMs = this.#clock.monotonicMs();
    const present = [...this.#failures.values()].filter(({ atMs, isLasting }) => isLasting || nowMs - atMs < memoryMs);
    return present.length === 0 ? undefined : present.map(({ problem }) => problem).join('; ');
  }

  /** The same for what a restart would mend. */
  get lasting(): HealthCheck {
    const check = (): string | undefined => [...this.#failures.values()].find(({ isLasting }) => isLasting)?.problem;
    return { name: this.name, check };
  }
}
