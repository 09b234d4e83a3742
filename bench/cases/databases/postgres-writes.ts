import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { BareBatches, BareSingles } from '../../children/bare-postgres.ts';
import type { StoreWrites } from '../../children/store-writer.ts';
import type { Figures } from '../../measure/figures.ts';
import type { InFlightFigures } from '../../measure/in-flight.ts';
import { hasPgbench, pgbenchTable, runPgbench } from './pgbench.ts';
import { ratioAtLeast } from '../../measure/result-table.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';
import type { Contestant } from '../../measure/rounds.ts';

type Verb = StoreWrites['verb'];

/** The number of writers at the same time. */
const width = 64;

/** The number of writers at each of three replicas. */
const widthOfThree = [22, 21, 21] as const;

/** The limit is measured with each of these numbers of operations per transaction, and its best result counts. */
const batches = [width, 256, 1000] as const;

/** The number of writers at one of three replicas. A transaction of this replica has at most this many operations. */
const shareOfThree = widthOfThree[1];

interface Contest {
  readonly verb: Verb;
  readonly context: CaseContext;
  /** The process that runs the statements without a store. It also empties the tables. */
  readonly bare: Child;
  /** The replicas. The first one is also measured alone. */
  readonly replicas: readonly Child[];
  /** Called after each measurement with the average number of operations in a transaction of one replica. */
  readonly onSize: (operations: number) => void;
}

/**
 * Measures the writes per second on PostgreSQL, by one replica and by three replicas at the same time. The limits of
 * one replica are the same statements by hand, in batches and one write per transaction; and for updates, PostgreSQL's
 * own benchmark. The limit of three replicas is the speed of one replica.
 */
export async function postgresWrites(context: CaseContext): Promise<readonly Row[]> {
  await using databases = new Child('databases');
  const rows: Row[] = [];
  for (const verb of ['update', 'create'] as const) {
    const url = await databases.call<string | undefined>('create', 'postgres');
    if (url === undefined) return [];
    rows.push(...(await compare(verb, url, context)));
  }
  return rows;
}

async function compare(verb: Verb, url: string, context: CaseContext): Promise<readonly Row[]> {
  await using first = new Child('store-writer');
  await using second = new Child('store-writer');
  await using third = new Child('store-writer');
  await using bare = new Child('bare-postgres');
  const replicas = [first, second, third];
  // With this number of objects, no transaction changes an object twice, and two writers of pgbench rarely update the
  // same row.
  const objects = Math.max(context.settings.objects / 10, ...batches);
  for (const child of [...replicas, bare]) {
    await child.call('open', url);
    if (verb === 'update') await child.call('prepare', objects);
  }
  const isPgbenchRun = verb === 'update' && (await isPgbenchThere());
  if (isPgbenchRun) await bare.call('execute', pgbenchTable(objects));
  let size = 0;
  const contest = { verb, context, bare, replicas, onSize: (operations: number) => (size = operations) };
  const pgbench: Contestant = () =>
    runPgbench({ url, clients: width, seconds: context.settings.seconds, objects, folder: context.folder });
  const found = await alternate<string>(context.settings.rounds, {
    ...contestantsOf(contest),
    ...(isPgbenchRun ? { pgbench } : {}),
  });
  return rowsOf(verb, found, size);
}

async function isPgbenchThere(): Promise<boolean> {
  const isThere = await hasPgbench();
  if (!isThere) console.error('the row "postgres update, pgbench" is left out, because no pgbench is in PATH');
  return isThere;
}

function contestantsOf({ verb, context, bare, replicas, onSize }: Contest): Record<string, Contestant> {
  const { writes: count } = context.settings;
  const emptied =
    (run: Contestant): Contestant =>
    async () => {
      // The history would fill the disk, and each round of creates must start with an empty table.
      await bare.call('execute', `TRUNCATE homeostat_log${verb === 'create' ? ', homeostat_kv' : ''}`);
      return run();
    };
  const byHand = [shareOfThree, ...batches].map((batch): [string, Contestant] => [
    handName(batch),
    emptied(() => bare.call('writeBatches', { verb, count, batch } satisfies BareBatches)),
  ]);
  const singles = { verb, count: count / 20, connections: width } satisfies BareSingles;
  return {
    ours: emptied(async () => {
      const figures = await replicas[0]!.call<InFlightFigures>('write', { verb, count, width } satisfies StoreWrites);
      onSize(figures.perTurn);
      return figures;
    }),
    three: emptied(() => writeTogether(replicas, verb, count)),
    ...Object.fromEntries(byHand),
    singly: emptied(() => bare.call('writeSingly', singles)),
  };
}

function handName(batch: number): string {
  return `by hand, ${batch}`;
}

/** Writes at all replicas at the same time. The latencies are those of the slowest replica. */
async function writeTogether(replicas: readonly Child[], verb: Verb, count: number): Promise<Figures> {
  const startMs = performance.now();
  const shares = widthOfThree.map((share) => ({ verb, count: Math.round((count * share) / width), width: share }));
  const found = await Promise.all(replicas.map((replica, at) => replica.call<Figures>('write', shares[at])));
  const elapsedMs = performance.now() - startMs;
  return {
    opsPerSecond: (shares.reduce((sum, share) => sum + share.count, 0) / elapsedMs) * 1000,
    p50Ms: Math.max(...found.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...found.map(({ p99Ms = Number.NaN }) => p99Ms)),
  };
}

function rowsOf(verb: Verb, found: Readonly<Record<string, Figures>>, size: number): readonly Row[] {
  const { ours, three, singly, pgbench } = found as Record<'ours' | 'three' | 'singly', Figures> & {
    readonly pgbench?: Figures;
  };
  const speedOf = (batch: number): number => found[handName(batch)]!.opsPerSecond;
  const [best = 0] = [...batches].sort((a, b) => speedOf(b) - speedOf(a));
  const name = (limit: string): string => `postgres ${verb}, ${limit}`;
  const row = (limitName: string, least: number, limit: Figures): Row => ({
    name: name(limitName),
    ours,
    limit,
    target: ratioAtLeast(least, { ours, limit }),
  });
  return [
    {
      ...row('by hand', 0.6, found[handName(best)]!),
      note: `${size.toFixed(0)} writes per transaction; by hand ${best}, the fastest size among ${batches.join(', ')}`,
    },
    { name: name(`by hand, ${width} a transaction`), ours, limit: found[handName(width)]! },
    row('one a transaction', 5, singly),
    ...(pgbench === undefined ? [] : [row('pgbench', 1.2, pgbench)]),
    {
      name: name('three replicas'),
      ours: three,
      limit: ours,
      target: ratioAtLeast(0.85, { ours: three, limit: ours }),
      note: `by hand, the rate with ${shareOfThree} writes per transaction is ${(speedOf(shareOfThree) / speedOf(width)).toFixed(2)} of the rate with ${width}`,
    },
  ];
}
