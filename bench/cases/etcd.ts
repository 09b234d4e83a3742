import type { CaseContext } from '../case.ts';
import { Child } from '../child.ts';
import type { BareWrites } from '../children/bare-etcd.ts';
import type { StoreWrites } from '../children/store-writer.ts';
import type { Figures } from '../figures.ts';
import type { InFlightFigures } from '../in-flight.ts';
import { ratioAtLeast } from '../result-table.ts';
import type { Row } from '../result-table.ts';
import { alternate } from '../rounds.ts';
import type { Settings } from '../settings.ts';
import { deliveriesOn } from './replicas.ts';
import { startOn } from './start-up-on-servers.ts';

const width = 64;
const shares = [22, 21, 21];

/**
 * How fast is the store on etcd? Its limits are the same transactions by hand, with the same library: one at a time with
 * as many writes as ours has on average, and one per write.
 */
export async function etcd({ settings }: CaseContext): Promise<readonly Row[]> {
  await using databases = new Child('databases');
  const create = (): Promise<string | undefined> => databases.call('create', 'etcd');
  const url = await create();
  if (url === undefined) return [];
  const rows = [...(await compareWrites(url, settings))];
  const [followed, filled] = [await create(), await create()];
  if (followed !== undefined) rows.push(...(await deliveriesOn('etcd', followed, settings)));
  if (filled !== undefined) rows.push(await startOn('etcd', filled, settings));
  return rows;
}

async function compareWrites(url: string, { rounds, writes: count }: Settings): Promise<readonly Row[]> {
  await using first = new Child('store-writer');
  await using second = new Child('store-writer');
  await using third = new Child('store-writer');
  await using bare = new Child('bare-etcd');
  const replicas = [first, second, third];
  for (const child of [...replicas, bare]) await child.call('open', url);
  let size = 0;
  const found = await alternate(rounds, {
    ours: async () => {
      const figures = await first.call<InFlightFigures>('write', {
        verb: 'create',
        count,
        width,
      } satisfies StoreWrites);
      size = Math.max(1, Math.round(figures.perTurn));
      return figures;
    },
    three: () => writeTogether(replicas, count),
    together: () => bare.call('write', { count, size: Math.max(1, size), width: 1 } satisfies BareWrites),
    singly: () => bare.call('write', { count: Math.ceil(count / 4), size: 1, width } satisfies BareWrites),
  });
  const { ours, three, together, singly } = found;
  return [
    {
      name: `etcd create, by hand, ${size} a transaction`,
      ours,
      limit: together,
      target: ratioAtLeast(0.7, { ours, limit: together }),
    },
    {
      name: 'etcd create, by hand, one a transaction',
      ours,
      limit: singly,
      target: ratioAtLeast(0.7, { ours, limit: singly }),
    },
    {
      name: 'etcd create, three replicas',
      ours: three,
      limit: ours,
      target: ratioAtLeast(0.9, { ours: three, limit: ours }),
    },
  ];
}

async function writeTogether(replicas: readonly Child[], count: number): Promise<Figures> {
  const startMs = performance.now();
  const writes = shares.map((share) => ({ count: Math.round((count * share) / width), width: share }));
  const found = await Promise.all(
    replicas.map((replica, at) => replica.call<Figures>('write', { verb: 'create', ...writes[at] })),
  );
  return {
    opsPerSecond: (writes.reduce((sum, each) => sum + each.count, 0) / (performance.now() - startMs)) * 1000,
    p50Ms: Math.max(...found.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...found.map(({ p99Ms = Number.NaN }) => p99Ms)),
  };
}
