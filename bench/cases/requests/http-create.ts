import { join } from 'node:path';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { Figures } from '../../measure/figures.ts';
import { formatRequest, loadHttp } from '../../load/http-load.ts';
import { newPerson, personsPath, threeIndexes } from '../../load/person.ts';
import { p50AtMost, ratioAtLeast } from '../../measure/result-table.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';

/**
 * Compares a durable create on our server with a koa server that parses the body and sends it back. Compares the least
 * server, which does only the necessary work of a create, with the same koa server.
 */
export async function httpCreate({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  await using server = new Child('api-server');
  await using koa = new Child('koa-echo');
  const url = await server.call<string>('start', `sqlite:${join(folder, 'http-create.db')}`);
  const koaUrl = await koa.call<string>('start');
  await using least = new Child('least-server');
  const leastUrl = await least.call<string>('start', `sqlite:${join(folder, 'least.db')}`);
  await server.call('register', threeIndexes);
  let number = 0;
  const request = (): string => {
    number += 1;
    return formatRequest('POST', personsPath, JSON.stringify(newPerson({ name: `p-${number.toString()}`, number })));
  };
  const { rounds, seconds } = settings;
  const load = (to: string, connections: number) => () => loadHttp({ url: to, connections, seconds, request });
  const compare = (connections: number): Promise<Readonly<Record<'ours' | 'limit' | 'least', Figures>>> =>
    alternate(rounds, {
      ours: load(url, connections),
      limit: load(koaUrl, connections),
      least: load(leastUrl, connections),
    });
  const many = await compare(64);
  const one = await compare(1);
  return [
    { name: 'http-create, 64 connections', ...many, target: ratioAtLeast(0.5, many) },
    { name: 'http-create, the least server', ours: many.least, limit: many.limit },
    { name: 'http-create, 1 connection', ...one, target: p50AtMost(0.5, one.ours) },
    { name: 'http-create, 1 connection, the least server', ours: one.least, limit: one.limit },
  ];
}
