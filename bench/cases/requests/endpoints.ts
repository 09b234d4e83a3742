import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import { endpointGroup, greetingPattern, listedPage, listRoute } from '../../load/endpoint-paths.ts';
import { formatRequest, loadHttp } from '../../load/http-load.ts';
import { personsPath, threeIndexes } from '../../load/person.ts';
import { ratioAtLeast } from '../../measure/result-table.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';

/**
 * Compares a plugin's endpoint with a route of bare koa, and a list from the endpoint with the same list from the
 * generated API.
 */
export async function endpoints({ settings }: CaseContext): Promise<readonly Row[]> {
  await using server = new Child('api-server');
  await using koa = new Child('koa-router');
  const { rounds, seconds } = settings;
  const url = await server.call<string>('start', 'memory:');
  const koaUrl = await koa.call<string>('start');
  await server.call('register', threeIndexes);
  await server.call('fill', { count: 1_000 });
  await server.call('serveEndpoints');
  const load = (to: string, path: string) => () =>
    loadHttp({ url: to, connections: 64, seconds, request: () => formatRequest('GET', path) });
  const greeting = greetingPattern.replace(':name', 'ann');
  const page = `${personsPath}?sort=${listedPage.sort}&page=${listedPage.page}&size=${listedPage.size}`;
  const list = `/apis/${endpointGroup}${listRoute}`;
  await expectSame(url + greeting, koaUrl + greeting);
  await expectSame(url + list, url + page);
  const constant = await alternate(rounds, { ours: load(url, greeting), limit: load(koaUrl, greeting) });
  const lists = await alternate(rounds, { ours: load(url, list), limit: load(url, page) });
  return [
    { name: 'endpoint, constant', ...constant, target: ratioAtLeast(0.71, constant) },
    { name: 'endpoint, list of 20 objects', ...lists, target: ratioAtLeast(0.77, lists) },
  ];
}

async function expectSame(one: string, other: string): Promise<void> {
  const [ours, limit] = await Promise.all([one, other].map(async (url) => (await fetch(url)).text()));
  if (ours !== limit)
    throw new Error(`${one} returns ${String(ours?.slice(0, 200))}, and ${other} returns another body`);
}
