import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import { copyAnswer } from '../../load/copy-answer.ts';
import { formatRequest, loadHttp } from '../../load/http-load.ts';
import { personsPath, threeIndexes } from '../../load/person.ts';
import { ratioAtLeast } from '../../measure/result-table.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';

/** Compares a GET of one object from our server with a GET of the same bytes from a server that is only koa. */
export async function httpGet({ settings }: CaseContext): Promise<readonly Row[]> {
  await using server = new Child('api-server');
  await using koa = new Child('koa-echo');
  const url = await server.call<string>('start', 'memory:');
  const koaUrl = await koa.call<string>('start');
  await server.call('register', threeIndexes);
  await server.call('fill', { count: 1_000 });
  const path = `${personsPath}/p-500`;
  await copyAnswer(url + path, koaUrl);
  const request = (): string => formatRequest('GET', path);
  const { rounds, seconds } = settings;
  const load = (to: string) => () => loadHttp({ url: to, connections: 64, seconds, request });
  const found = await alternate(rounds, { ours: load(url), limit: load(koaUrl) });
  return [{ name: 'http-get, 64 connections', ...found, target: ratioAtLeast(0.7, found) }];
}
