import { join } from 'node:path';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { Figures } from '../../measure/figures.ts';
import type { InFlightFigures } from '../../measure/in-flight.ts';
import { storedPerson, threeIndexes } from '../../load/person.ts';
import { ratioAtLeast } from '../../measure/result-table.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';

interface Contest {
  readonly server: Child;
  readonly bare: Child;
  readonly rounds: number;
  readonly count: number;
  /** The JSON of an object, as it is stored. */
  readonly data: string;
}

/** Compares the client in a server's process with bare SQLite, which writes and reads the same rows. */
export async function inProcess({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  const { rounds, writes } = settings;
  await using server = new Child('api-server');
  await using bare = new Child('bare-sqlite');
  await using least = new Child('least-server');
  await server.call('start', `sqlite:${join(folder, 'in-process.db')}`);
  await server.call('register', threeIndexes);
  await least.call('start', `sqlite:${join(folder, 'least.db')}`);
  await bare.call('open', join(folder, 'bare.db'));
  const contest = { server, bare, rounds, count: writes, data: storedPerson() };
  const created = await compareWrites('create', contest);
  const leastCreated = await compareWrites('create', { ...contest, server: least });
  const updated = await compareWrites('update', contest);
  const got = await compareReads('get', { ...contest, count: writes * 5 });
  const listed = await compareReads('list', { ...contest, count: writes / 4 });
  return [created, { ...leastCreated, name: 'in-process create, the least server' }, updated, got, listed];
}

async function compareWrites(verb: 'create' | 'update', { server, bare, rounds, count, data }: Contest): Promise<Row> {
  let batch = 1;
  const found = await alternate(rounds, {
    ours: async () => {
      const figures = await server.call<InFlightFigures>(verb, count);
      batch = Math.round(figures.perTurn);
      return figures;
    },
    limit: () => bare.call<Figures>(verb, { count, batch, data }),
  });
  const note = `the limit writes ${batch.toString()} rows in each commit, as many as our server does on average`;
  return { name: `in-process ${verb}, 256 in flight`, ...found, target: ratioAtLeast(0.5, found), note };
}

async function compareReads(verb: 'get' | 'list', { server, bare, rounds, count }: Contest): Promise<Row> {
  const found = await alternate(rounds, {
    ours: () => server.call<Figures>(verb, count),
    limit: () => bare.call<Figures>(verb, count),
  });
  return { name: `in-process ${verb}, 256 in flight`, ...found, target: ratioAtLeast(0.5, found) };
}
