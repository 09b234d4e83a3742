import type { Clock } from '@homeostat/controller-runtime/api';
import type { Counter, Histogram, Metrics } from '@homeostat/controller-runtime/telemetry';
import type { WatchHandler } from '../http/watch/watch-handler.ts';
import { resourceName } from '../registry/object/resource-errors.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { Store } from '../store/store.ts';

/** Upper bounds in seconds. An fsync takes from a tenth of a millisecond to tens of milliseconds. */
const commitBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface MeasuredParts {
  readonly table: ResourceTable;
  readonly watches: WatchHandler;
}

/** Adds metrics of stored objects and watches for each served kind. They are sampled at each scrape. */
export function sampleServer(metrics: Metrics, { table, watches }: MeasuredParts): void {
  const objects = {
    name: 'apiserver_storage_objects',
    help: 'Objects of a kind that is served.',
    labels: ['resource'],
  };
  metrics.sample({ ...objects, type: 'gauge' }, () =>
    table.served().map(({ model, cache }) => [[resourceName(model)], cache.size] as const),
  );
  const broken = {
    name: 'homeostat_broken_objects',
    help: 'Stored objects of a kind that cannot be read; the log names their keys.',
    labels: ['resource'],
  };
  metrics.sample({ ...broken, type: 'gauge' }, () =>
    table.served().map(({ model, cache }) => [[resourceName(model)], cache.broken.size] as const),
  );
  const watchers = { name: 'apiserver_registered_watchers', help: 'Watches that are open.', labels: ['resource'] };
  metrics.sample({ ...watchers, type: 'gauge' }, () => {
    const counts = watches.counts();
    return table.served().map((resource) => [[resourceName(resource.model)], counts.get(resource) ?? 0] as const);
  });
}

interface CommitMetrics {
  readonly committed: Counter;
  readonly failed: Counter;
  readonly operations: Counter;
  readonly duration: Histogram;
}

function commitMetrics(metrics: Metrics): CommitMetrics {
  const commits = metrics.counter({ name: 'homeostat_store_commits_total', help: 'Commits.', labels: ['result'] });
  const help = 'Operations in commits: one for each object that is written.';
  const durations = metrics.histogram({
    name: 'homeostat_store_commit_duration_seconds',
    help: 'How long commits took, until they were durable.',
    buckets: commitBuckets,
  });
  return {
    committed: commits.of('committed'),
    failed: commits.of('failed'),
    operations: metrics.counter({ name: 'homeostat_store_operations_total', help }).of(),
    duration: durations.of(),
  };
}

/** Wraps the store so that its commits are counted and measured. */
export function measureCommits(
  store: Store,
  { metrics, clock }: { readonly metrics: Metrics; readonly clock: Clock },
): Pick<Store, 'commit' | 'isShared'> {
  const { committed, failed, operations, duration } = commitMetrics(metrics);
  return {
    isShared: store.isShared,
    async commit(batch) {
      const sinceMs = clock.monotonicMs();
      operations.inc(batch.length);
      try {
        const outcome = await store.commit(batch);
        committed.inc();
        return outcome;
      } catch (error) {
        failed.inc();
        throw error;
      } finally {
        duration.observe((clock.monotonicMs() - sinceMs) / 1000);
      }
    },
  };
}
