import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';

/** Returns a kind once it is served; undefined when the signal aborts first. */
export function whenServed(
  table: ResourceTable,
  model: ModelDescriptor,
  signal: AbortSignal,
): Promise<Resource | undefined> | Resource {
  return (
    table.get(model) ??
    new Promise((resolve) => {
      const look = (): void => {
        const resource = table.get(model);
        if (resource === undefined && !signal.aborted) return;
        table.off('opened', look);
        signal.removeEventListener('abort', look);
        resolve(resource);
      };
      table.on('opened', look);
      signal.addEventListener('abort', look);
      look();
    })
  );
}
