import type { Clock } from '@homeostat/controller-runtime/api';
import type { Counter, Histogram, Metrics } from '@homeostat/controller-runtime/telemetry';
import type { HealthCheck } from '../http/pages/health.ts';
import { storeErrorCodeOf } from '../store/store-error.ts';
import type { Store } from '../store/store.ts';
import { toError } from '../base/to-error.ts';

/**
 * The time for which a failure that is not {@link lasting} is reported, unless another attempt succeeds earlier. The
 * time is limited, because there may be no further attempt that shows that the database works again.
 */
const memoryMs = 10_000;

/**
 * The failures that last until the process is restarted. For `newer`, the package must be updated before the restart.
 */
const lasting: ReadonlySet<unknown> = new Set(['crashed', 'diverged', 'corrupt', 'newer']);

/**
 * The kind of an access to the database. `follow` means to read the changes of other writers; this may keep failing
 * while the database's revision can be read.
 */
type Use = 'read' | 'follow' | 'write';

/** Remembers the problems of the last accesses to the database, and reports them in health checks. */
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
   * Records the result of an access; `error` is undefined after a success. Ignores errors that say nothing about the
   * database: those that the request itself has caused, and those of a closed store. A {@link lasting} failure stays:
   * other accesses to a damaged database may still succeed.
   */
  report(what: Use, error: unknown): void {
    const mustStay = this.#failures.get(what)?.isLasting === true;
    if (error === undefined) {
      if (!mustStay) this.#failures.delete(what);
      return;
    }
    const code = storeErrorCodeOf(error);
    if (code === undefined || code === 'refused' || code === 'closed') return;
    if (code === 'newer') this.#becomeOutdated(toError(error));
    if (mustStay) return;
    const problem = `cannot ${what}: ${toError(error).message}`;
    this.#failures.set(what, { problem, atMs: this.#clock.monotonicMs(), isLasting: lasting.has(code) });
  }

  check(): string | undefined {
    const nowMs = this.#clock.monotonicMs();
    const present = [...this.#failures.values()].filter(({ atMs, isLasting }) => isLasting || nowMs - atMs < memoryMs);
    return present.length === 0 ? undefined : present.map(({ problem }) => problem).join('; ');
  }

  /** A health check that reports only problems that last until a restart. */
  get lasting(): HealthCheck {
    const check = (): string | undefined => [...this.#failures.values()].find(({ isLasting }) => isLasting)?.problem;
    return { name: this.name, check };
  }
}

/**
 * The upper bounds of the buckets for the durations of commits, in seconds. An fsync takes from a tenth of a
 * millisecond to tens of milliseconds.
 */
const commitBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface CommitMetrics {
  readonly committed: Counter;
  readonly failed: Counter;
  readonly operations: Counter;
  readonly duration: Histogram;
}

function commitMetrics(metrics: Metrics): CommitMetrics {
  const commits = metrics.counter({
    name: 'homeostat_store_commits_total',
    help: 'Commits, by their result.',
    labels: ['result'],
  });
  const help = 'Operations sent to the database in commits. Each written object is one operation.';
  const durations = metrics.histogram({
    name: 'homeostat_store_commit_duration_seconds',
    help: 'The time from the start of a commit until it was durable, or had failed.',
    buckets: commitBuckets,
  });
  return {
    committed: commits.of('committed'),
    failed: commits.of('failed'),
    operations: metrics.counter({ name: 'homeostat_store_operations_total', help }).of(),
    duration: durations.of(),
  };
}

/**
 * Wraps a store: the returned `commit` also counts and measures commits, and reports their results to `health`. The
 * other fields are those of the store.
 */
export function measureCommits(
  store: Store,
  { metrics, clock, health }: { readonly metrics: Metrics; readonly clock: Clock; readonly health: DatabaseHealth },
): Pick<Store, 'commit' | 'isShared' | 'batchLimits'> {
  const { committed, failed, operations, duration } = commitMetrics(metrics);
  return {
    isShared: store.isShared,
    batchLimits: store.batchLimits,
    async commit(batch) {
      const sinceMs = clock.monotonicMs();
      operations.inc(batch.length);
      try {
        const outcome = await store.commit(batch);
        committed.inc();
        health.report('write', undefined);
        return outcome;
      } catch (error) {
        failed.inc();
        health.report('write', error);
        throw error;
      } finally {
        duration.observe((clock.monotonicMs() - sinceMs) / 1000);
      }
    },
  };
}
