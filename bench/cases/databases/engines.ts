import { join } from 'node:path';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { Engine } from '../../children/databases.ts';
import type { StoreWrites } from '../../children/store-writer.ts';
import type { Figures } from '../../measure/figures.ts';
import { describeConditions } from '../../measure/machine.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';

interface Measured {
  readonly engine: string;
  /** The figures of creates, of which 64 are in flight at a time. */
  readonly many: Figures;
  /** The figures of creates that are sent one after the other. */
  readonly one: Figures;
}

/**
 * Compares the database engines by durable creates of 1 KB through the store of one process: 64 at a time, and one at a
 * time. The text that it prints below the table is for docs/choosing-a-database.md.
 */
export async function engines({ settings, folder, addPage }: CaseContext): Promise<readonly Row[]> {
  await using databases = new Child('databases');
  const conditions = describeConditions(folder);
  const measured = [await measure('SQLite', `sqlite:${join(folder, 'engines.db')}`, settings)];
  const servers: readonly (readonly [Engine, string])[] = [
    ['postgres', 'PostgreSQL'],
    ['mysql', ''],
    ['etcd', 'etcd, one member'],
    ['etcd-three', 'etcd, three members on the same disk'],
  ];
  for (const [engine, name] of servers) {
    const url = await databases.call<string | undefined>('create', engine);
    if (url === undefined) continue;
    const title = engine === 'mysql' ? await databases.call<string>('mysqlName') : name;
    measured.push(await measure(title, url, settings));
  }
  addPage(formatPage(conditions, measured));
  return measured.flatMap(({ engine, many, one }) => [
    { name: `${engine}, creates, of which 64 are in flight`, ours: many },
    { name: `${engine}, creates, one at a time`, ours: one },
  ]);
}

async function measure(
  engine: string,
  url: string,
  { rounds, writes }: { readonly rounds: number; readonly writes: number },
): Promise<Measured> {
  await using writer = new Child('store-writer');
  await writer.call('open', url);
  const write = (count: number, width: number) => (): Promise<Figures> =>
    writer.call('write', { verb: 'create', count, width } satisfies StoreWrites);
  return { engine, ...(await alternate(rounds, { many: write(writes, 64), one: write(writes / 50, 1) })) };
}

function formatPage(conditions: string, measured: readonly Measured[]): string {
  const header = ['Engine', 'Writes/s, 64 in flight', 'p50', 'Writes/s, one after the other', 'p50'];
  const rows = measured.map(({ engine, many, one }) => [engine, ...cellsOf(many), ...cellsOf(one)]);
  const lines = [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  const text = `Rates of durable creates of 1 KB through the store of one process, from one run of \`npm run bench -- engines\` ${conditions}.`;
  return [text, '', ...lines].join('\n');
}

/**
 * Returns the cells of the figures. Rates have two significant digits, because further digits differ from run to run.
 */
function cellsOf({ opsPerSecond, p50Ms }: Figures): readonly string[] {
  return [Number(opsPerSecond.toPrecision(2)).toLocaleString('en-US'), `${p50Ms.toFixed(1)} ms`];
}
