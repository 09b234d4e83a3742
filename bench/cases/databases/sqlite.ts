import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { CaseContext } from '../../measure/case.ts';
import { Child, childrenOf } from '../../processes/child.ts';
import type { SqliteWrites } from '../../children/bare-sqlite.ts';
import type { StoreStart, StoreWrites } from '../../children/store-writer.ts';
import { median } from '../../measure/figures.ts';
import type { InFlightFigures } from '../../measure/in-flight.ts';
import { storedPerson } from '../../load/person.ts';
import type { Row, Target } from '../../measure/result-table.ts';

const width = 256;

/**
 * The number of writes after which the write-ahead log is measured. It is so small that SQLite does not move the log
 * into the database before the measurement, even if each write adds 4 KB to the log.
 */
const loggedWrites = 1_000;

const most = { threadUs: 7, logKb: 3, diskKb: 5 } as const;

/** A store in its own process, from this checkout or from the one that HOMEOSTAT_BENCH_AGAINST names. */
interface Writer {
  readonly child: Child;
  /** The id of the thread that runs SQLite. */
  readonly thread: string;
  /** The size of the write-ahead log for one create, in kilobytes. */
  readonly logKb: number;
  readonly costs: Cost[];
}

interface Cost {
  readonly threadUs: number;
  readonly diskKb: number;
  readonly perCommit: number;
}

/**
 * Measures a create of 1 KB in SQLite: the processor time of SQLite's thread, the bytes in the write-ahead log, and the
 * bytes written to disk, including those that move from the log into the database. It also measures the time of a
 * start.
 */
export async function sqlite({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  const rows = await writes({ settings, folder });
  const count = loggedWrites + (settings.rounds + 1) * settings.writes;
  return [...rows, await restart(join(folder, 'ours.db'), count)];
}

async function writes({ settings, folder }: Pick<CaseContext, 'settings' | 'folder'>): Promise<readonly Row[]> {
  const against = process.env['HOMEOSTAT_BENCH_AGAINST'];
  await using ours = new Child('store-writer');
  await using other = against === undefined ? undefined : new Child('store-writer', [], childrenOf(against));
  const writers = [await open(ours, join(folder, 'ours.db'))];
  if (other !== undefined) writers.push(await open(other, join(folder, 'other.db')));
  await using bare = new Child('bare-sqlite');
  await bare.call('open', join(folder, 'bare.db'));
  const leastUs: number[] = [];
  for (let round = 0; round <= settings.rounds; round += 1) {
    for (const writer of round % 2 === 0 ? writers : writers.toReversed()) {
      const cost = await costOf(writer, settings.writes);
      if (round > 0) writer.costs.push(cost);
      if (writer !== writers[0]) continue;
      const batch = Math.round(cost.perCommit);
      const least = await bareCost(bare, { count: settings.writes, batch, data: storedPerson() });
      if (round > 0) leastUs.push(least);
    }
  }
  return rowsOf(writers, median(leastUs));
}

/**
 * Returns the processor time of a create in microseconds when better-sqlite3 is used alone, with the same table and
 * bytes, and the same number of rows per commit.
 */
async function bareCost(bare: Child, creates: SqliteWrites): Promise<number> {
  const beforeMs = bare.mainCpuMs();
  await bare.call('create', creates);
  return ((bare.mainCpuMs() - beforeMs) / creates.count) * 1000;
}

async function open(child: Child, file: string): Promise<Writer> {
  const before = child.threadsMs();
  await child.call('open', `sqlite:${file}`);
  await create(child, loggedWrites);
  const logKb = statSync(`${file}-wal`).size / loggedWrites / 1024;
  const newThreads = [...child.threadsMs()].filter(([id]) => !before.has(id));
  const [thread] = newThreads.reduce((busiest, each) => (each[1] > busiest[1] ? each : busiest), ['', 0]);
  return { child, thread, logKb, costs: [] };
}

function create(child: Child, count: number): Promise<InFlightFigures> {
  return child.call('write', { verb: 'create', count, width } satisfies StoreWrites);
}

async function costOf({ child, thread }: Writer, count: number): Promise<Cost> {
  const ms = (): number => child.threadsMs().get(thread) ?? Number.NaN;
  const [beforeMs, beforeBytes] = [ms(), child.writtenBytes()];
  const { perTurn } = await create(child, count);
  return {
    threadUs: ((ms() - beforeMs) / count) * 1000,
    diskKb: (child.writtenBytes() - beforeBytes) / count / 1024,
    perCommit: perTurn,
  };
}

function rowsOf(writers: readonly Writer[], leastUs: number): Row[] {
  const each = (value: (writer: Writer) => number): readonly number[] => writers.map(value);
  const medianOf = (name: keyof Cost) => (writer: Writer) => median(writer.costs.map((cost) => cost[name]));
  const commits = each(medianOf('perCommit')).map((size) => Math.round(size));
  return [
    {
      name: 'sqlite: processor time of the SQLite thread for each create',
      ...judged(each(medianOf('threadUs')), most.threadUs, 'us'),
      note: `${withOther(each(medianOf('threadUs')), 'us')}; ${commits.join(' and ')} creates per commit; better-sqlite3 alone, with the same number per commit: ${leastUs.toFixed(2)} us`,
    },
    {
      name: 'sqlite: bytes in the write-ahead log for each create',
      ...judged(
        each((writer) => writer.logKb),
        most.logKb,
        'KB',
      ),
    },
    { name: 'sqlite: bytes written to disk for each create', ...judged(each(medianOf('diskKb')), most.diskKb, 'KB') },
  ];
}

function judged(
  found: readonly number[],
  atMost: number,
  unit: string,
): { readonly target: Target; readonly note: string } {
  const [ours = Number.NaN] = found;
  const target = { text: `<= ${atMost} ${unit}: ${ours.toFixed(1)}`, isMet: ours <= atMost };
  return { target, note: withOther(found, unit) };
}

function withOther([ours = Number.NaN, other]: readonly number[], unit: string): string {
  const text = `${ours.toFixed(2)} ${unit}`;
  return other === undefined ? text : `${text}; the other checkout: ${other.toFixed(2)} ${unit}`;
}

async function restart(file: string, count: number): Promise<Row> {
  await using reader = new Child('store-writer');
  const { openMs, scanMs } = await reader.call<StoreStart>('start', { url: `sqlite:${file}`, kind: 1 });
  return {
    name: `sqlite: start, ${count.toLocaleString('en-US')} objects`,
    ours: { opsPerSecond: (count / (openMs + scanMs)) * 1000, p50Ms: openMs + scanMs },
    note: `opening ${openMs.toFixed(0)} ms, reading all objects ${scanMs.toFixed(0)} ms`,
  };
}
