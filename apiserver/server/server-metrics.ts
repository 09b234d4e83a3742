import type { Metrics } from '@homeostat/controller-runtime/telemetry';
import type { MemoryLimit } from '../limits/memory-limit.ts';
import type { WatchHandler } from '../http/watch/watch-handler.ts';
import { resourceName } from '../registry/object/resource-errors.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';

export interface MeasuredParts {
  readonly table: ResourceTable;
  readonly watches: WatchHandler;
  readonly memory: MemoryLimit;
}

/**
 * Adds the metrics of memory, and those of the stored objects and the watches of each served kind. The values are read
 * at each scrape.
 */
export function sampleServer(metrics: Metrics, { table, watches, memory }: MeasuredParts): void {
  const objects = {
    name: 'apiserver_storage_objects',
    help: 'Stored objects of each kind that the server serves.',
    labels: ['resource'],
  };
  metrics.sample({ ...objects, type: 'gauge' }, () =>
    table.served().map(({ model, cache }) => [[resourceName(model)], cache.size] as const),
  );
  const broken = {
    name: 'homeostat_broken_objects',
    help: 'Stored objects that cannot be read, by kind; the log names their keys.',
    labels: ['resource'],
  };
  metrics.sample({ ...broken, type: 'gauge' }, () =>
    table.served().map(({ model, cache }) => [[resourceName(model)], cache.broken.size] as const),
  );
  const share = {
    name: 'homeostat_memory_limit_share',
    help: 'The larger of two used shares: of the usable heap, and of the memory of the container; 1 means all.',
  };
  metrics.sample({ ...share, type: 'gauge' }, () => [[[], memory.share]]);
  const refused = {
    name: 'homeostat_memory_refusals_total',
    help: 'Writes that were refused because memory is full.',
  };
  metrics.sample({ ...refused, type: 'counter' }, () => [[[], memory.refusals]]);
  const watchers = { name: 'apiserver_registered_watchers', help: 'Watches that are open.', labels: ['resource'] };
  metrics.sample({ ...watchers, type: 'gauge' }, () => {
    const counts = watches.counts();
    return table.served().map((resource) => [[resourceName(resource.model)], counts.get(resource) ?? 0] as const);
  });
}
