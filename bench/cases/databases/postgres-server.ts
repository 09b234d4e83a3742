import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { BareBatches } from '../../children/bare-postgres.ts';
import type { InFlightFigures } from '../../measure/in-flight.ts';
import { formatRequest, loadHttp } from '../../load/http-load.ts';
import { newPerson, personsPath, threeIndexes } from '../../load/person.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';

/** Measures creations by a server on PostgreSQL: with requests over HTTP, and with calls in the server's process. */
export async function postgresServer({ settings }: CaseContext): Promise<readonly Row[]> {
  await using databases = new Child('databases');
  const database = await databases.call<string | undefined>('create', 'postgres');
  if (database === undefined) return [];
  await using server = new Child('api-server');
  await using koa = new Child('koa-echo');
  await using bare = new Child('bare-postgres');
  const { rounds, seconds, writes: count } = settings;
  const url = await server.call<string>('start', database);
  const koaUrl = await koa.call<string>('start');
  await server.call('register', threeIndexes);
  await bare.call('open', database);
  let number = 0;
  const request = (): string => {
    number += 1;
    return formatRequest('POST', personsPath, JSON.stringify(newPerson({ name: `http-${number}`, number })));
  };
  const load = (to: string) => () => loadHttp({ url: to, connections: 64, seconds, request });
  const overHttp = await alternate(rounds, { ours: load(url), limit: load(koaUrl) });
  let batch = 1;
  const inProcess = await alternate(rounds, {
    ours: async () => {
      const figures = await server.call<InFlightFigures>('create', count);
      batch = Math.round(figures.perTurn);
      return figures;
    },
    limit: () => bare.call('writeBatches', { verb: 'create', count, batch } satisfies BareBatches),
  });
  const note = `the limit writes ${batch} rows in each commit, as many as our server does on average`;
  return [
    { name: 'postgres http-create, 64 connections', ...overHttp },
    { name: 'postgres in-process create, 256 in flight', ...inProcess, note },
  ];
}
