import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { BareWrites, WritesInTurn } from '../../children/bare-etcd.ts';
import type { StoreWrites } from '../../children/store-writer.ts';
import type { Figures } from '../../measure/figures.ts';
import type { InFlightFigures } from '../../measure/in-flight.ts';
import { ratioAtLeast } from '../../measure/result-table.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';
import type { Settings } from '../../measure/settings.ts';
import { deliveriesOn } from './replicas.ts';
import { startOn } from './start-up-on-servers.ts';

const width = 64;

/** The number of writes that each of three replicas has in flight. */
const shareOfThree = 21;

/**
 * Measures the store on etcd. The limits are the same transactions by hand, with the same library: first, one
 * transaction at a time, with the average number of writes of our transactions; second, 64 transactions at a time, each
 * with one write.
 */
export async function etcd({ settings, only }: CaseContext): Promise<readonly Row[]> {
  await using databases = new Child('databases');
  const questions = {
    'etcd create': (url: string) => compareWrites(url, settings),
    'replicas on etcd': (url: string) => deliveriesOn('etcd', url, settings),
    'start-up on etcd': async (url: string) => [await startOn('etcd', url, settings)],
  };
  const rows: Row[] = [];
  for (const [name, measure] of Object.entries(questions)) {
    if (!name.includes(only)) continue;
    const url = await databases.call<string | undefined>('create', 'etcd');
    if (url !== undefined) rows.push(...(await measure(url)));
  }
  return rows;
}

async function compareWrites(url: string, { rounds, writes: count }: Settings): Promise<readonly Row[]> {
  await using single = new Child('store-writer');
  await using first = new Child('store-writer');
  await using second = new Child('store-writer');
  await using third = new Child('store-writer');
  await using bare = new Child('bare-etcd');
  await using secondBare = new Child('bare-etcd');
  await using thirdBare = new Child('bare-etcd');
  const replicas = [first, second, third];
  const bares = [bare, secondBare, thirdBare];
  // This store has its own database, so that no replica follows its changes.
  await single.call('open', `${url}-alone`);
  for (const child of [...replicas, ...bares]) await child.call('open', url);
  let size = 0;
  const all: StoreWrites = { verb: 'create', count, width };
  const found = await alternate(rounds, {
    ours: async () => {
      const figures = await single.call<InFlightFigures>('write', all);
      size = Math.max(1, Math.round(figures.perTurn));
      return figures;
    },
    one: () => first.call('write', all),
    three: () =>
      together(replicas, count, (replica, share) =>
        replica.call('write', { verb: 'create', count: share, width: shareOfThree } satisfies StoreWrites),
      ),
    many: () => bare.call('write', { count, size, width: 1 } satisfies BareWrites),
    singly: () => bare.call('write', { count: Math.ceil(count / 4), size: 1, width } satisfies BareWrites),
    inTurn: async () => {
      await bare.call('beginTurns');
      return together(bares, count, (child, share, at) =>
        child.call('writeInTurn', { count: share, size: shareOfThree, at, of: bares.length } satisfies WritesInTurn),
      );
    },
    alone: () =>
      together(bares, count, (child, share) =>
        child.call('writeAlone', { count: share, size: shareOfThree, width: 1 } satisfies BareWrites),
      ),
  });
  return rowsOf(found, size);
}

function rowsOf(
  found: Readonly<Record<'ours' | 'one' | 'three' | 'many' | 'singly' | 'inTurn' | 'alone', Figures>>,
  size: number,
): readonly Row[] {
  const { ours, one, three, many, singly, inTurn, alone } = found;
  return [
    {
      name: `etcd create, by hand, ${size} a transaction`,
      ours,
      limit: many,
      target: ratioAtLeast(0.7, { ours, limit: many }),
    },
    {
      name: 'etcd create, by hand, one write a transaction',
      ours,
      limit: singly,
      target: ratioAtLeast(0.7, { ours, limit: singly }),
    },
    {
      name: 'etcd create, three replicas',
      ours: three,
      limit: one,
      target: ratioAtLeast(0.9, { ours: three, limit: one }),
    },
    {
      name: 'etcd create, three replicas compared with three by-hand processes that take turns to write',
      ours: three,
      limit: inTurn,
    },
    {
      name: 'etcd create by hand, three processes that take turns to write, compared with one process',
      ours: inTurn,
      limit: many,
    },
    {
      name: 'etcd create by hand, three processes without the key `head`, compared with one process with this key',
      ours: alone,
      limit: many,
    },
  ];
}

/** Divides the writes equally among the processes, and returns the figures of all together. */
async function together(
  children: readonly Child[],
  count: number,
  write: (child: Child, count: number, at: number) => Promise<Figures>,
): Promise<Figures> {
  const startMs = performance.now();
  const share = Math.ceil(count / children.length);
  const found = await Promise.all(children.map((child, at) => write(child, share, at)));
  return {
    opsPerSecond: ((share * children.length) / (performance.now() - startMs)) * 1000,
    p50Ms: Math.max(...found.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...found.map(({ p99Ms = Number.NaN }) => p99Ms)),
  };
}
