import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { Engine } from '../../children/databases.ts';
import { median } from '../../measure/figures.ts';
import type { Figures } from '../../measure/figures.ts';
import { fiveIndexes } from '../../load/person.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';
import type { Settings } from '../../measure/settings.ts';

const most: Readonly<Record<Engine, number>> = {
  postgres: 4_000,
  mysql: 4_000,
  etcd: 5_000,
  'etcd-three': 5_000,
};

/**
 * Measures the time until a replica serves objects of 1 KB with five indexes, which are stored on a database server.
 */
export async function startUpOnServers({ settings }: CaseContext): Promise<readonly Row[]> {
  await using databases = new Child('databases');
  const rows: Row[] = [];
  for (const engine of ['postgres', 'mysql'] as const) {
    const database = await databases.call<string | undefined>('create', engine);
    if (database !== undefined) rows.push(await startOn(engine, database, settings));
  }
  return rows;
}

/**
 * Stores objects in a new database of one engine. Returns the row with the time until a server on this database is
 * ready, compared with the time in which the store alone reads and parses the objects.
 */
export async function startOn(engine: Engine, database: string, { rounds, objects }: Settings): Promise<Row> {
  const mostMs = most[engine];
  await fill(database, objects);
  const openMs: number[] = [];
  const { ours, limit } = await alternate(rounds, {
    ours: async () => {
      const started = await start(database);
      openMs.push(started.openMs);
      return { opsPerSecond: (objects / started.readyMs) * 1000, p50Ms: started.readyMs };
    },
    limit: async () => {
      await using reader = new Child('store-writer');
      return await reader.call<Figures>('scan', database);
    },
  });
  return {
    name: `start-up on ${engine}, ${objects.toLocaleString('en-US')} objects`,
    ours,
    limit,
    target: { text: `<= ${mostMs} ms`, isMet: ours.p50Ms <= mostMs },
    note: `p50 is the time from the start until the server is ready; in the first ${median(openMs).toFixed(0)} ms, the server opened the database and read the history`,
  };
}

async function fill(database: string, count: number): Promise<void> {
  await using server = new Child('api-server');
  await server.call('start', database);
  await server.call('register', []);
  await server.call('fill', { count });
  await server.call('stop');
}

interface Start {
  readonly openMs: number;
  readonly readyMs: number;
}

async function start(database: string): Promise<Start> {
  await using server = new Child('api-server');
  // This call waits until the process runs and has loaded its code, so that the measurement does not include this time.
  await server.call('heldBytes');
  const startMs = performance.now();
  await server.call('start', database);
  const openMs = performance.now() - startMs;
  await server.call('register', fiveIndexes);
  const readyMs = performance.now() - startMs;
  await server.call('stop');
  return { openMs, readyMs };
}
