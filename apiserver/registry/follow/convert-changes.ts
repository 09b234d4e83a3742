import type { Clock, Timer } from '@homeostat/controller-runtime/api';
import type { Change } from '../../store/store.ts';
import { fetchConversions } from '../kinds/fetch-conversions.ts';
import type { Resource } from '../kinds/resource.ts';
import type { ResourceTable } from '../kinds/resource-table.ts';

/** The time that the changes of all kinds wait for webhooks. */
const patienceMs = 1_000;

/**
 * Fetches the conversions of changes that another replica has stored in another version, as during a change of the storage
 * version. Resolves without them when a webhook fails or is slow.
 */
export async function convertChanges(
  changes: readonly Change[],
  { table, clock }: { readonly table: ResourceTable | undefined; readonly clock: Clock },
): Promise<void> {
  const byKind = new Map<Resource, Change[]>();
  for (const change of changes) {
    const resource = table?.ofNumber(change.kind);
    if (resource?.convertsByWebhook !== true) continue;
    const same = byKind.get(resource);
    if (same === undefined) byKind.set(resource, [change]);
    else same.push(change);
  }
  if (byKind.size === 0) return;
  const fetched = Array.from(byKind, async ([resource, each]) => fetchConversions(resource, each));
  let timer: Timer | undefined;
  const passed = new Promise<void>((resolve) => (timer = clock.setTimeout(resolve, patienceMs)));
  await Promise.race([Promise.allSettled(fetched), passed]);
  clock.clearTimeout(timer);
}
