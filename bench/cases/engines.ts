import { join } from 'node:path';
import type { CaseContext } from '../case.ts';
import { Child } from '../child.ts';
import type { Engine } from '../children/databases.ts';
import type { StoreWrites } from '../children/store-writer.ts';
import type { Figures } from '../figures.ts';
import type { Row } from '../result-table.ts';
import { alternate } from '../rounds.ts';

/** How do the engines compare? Creates of 1 KB through the store of one process, durable: 64 at a time, and one. */
export async function engines({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  await using databases = new Child('databases');
  const rows = await measure('SQLite', `sqlite:${join(folder, 'engines.db')}`, settings);
  const servers: readonly (readonly [string, Engine])[] = [
    ['PostgreSQL', 'postgres'],
    ['MySQL or MariaDB', 'mysql'],
    ['etcd, one member', 'etcd'],
    ['etcd, three members', 'etcd-three'],
  ];
  for (const [title, engine] of servers) {
    const url = await databases.call<string | undefined>('create', engine);
    if (url !== undefined) rows.push(...(await measure(title, url, settings)));
  }
  return rows;
}

async function measure(
  title: string,
  url: string,
  { rounds, writes }: { readonly rounds: number; readonly writes: number },
): Promise<Row[]> {
  await using writer = new Child('store-writer');
  await writer.call('open', url);
  const write = (count: number, width: number) => (): Promise<Figures> =>
    writer.call('write', { verb: 'create', count, width } satisfies StoreWrites);
  const { many, one } = await alternate(rounds, { many: write(writes, 64), one: write(writes / 50, 1) });
  return [
    { name: `${title}, 64 in flight`, ours: many },
    { name: `${title}, one after the other`, ours: one },
  ];
}
