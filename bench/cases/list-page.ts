import type { CaseContext } from '../case.ts';
import { Child } from '../child.ts';
import { copyAnswer } from '../copy-answer.ts';
import { formatRequest, loadHttp } from '../http-load.ts';
import { personsPath, threeIndexes } from '../person.ts';
import { p99AtMost, ratioAtLeast } from '../result-table.ts';
import type { Comparison, Row } from '../result-table.ts';
import { alternate } from '../rounds.ts';

/** Objects that match, however many do not. */
const matching = 500;

const connections = 8;

const path = `${personsPath}?fieldSelector=spec.city=home&sort=spec.name,asc&page=3&size=20`;

/** What does a page of a sorted, selected list cost, and does it grow with the objects that do not match? */
export async function listPage({ settings }: CaseContext): Promise<readonly Row[]> {
  await using small = new Child('api-server');
  await using large = new Child('api-server');
  await using koa = new Child('koa-echo');
  const { rounds, seconds, objects } = settings;
  const smallUrl = await startFilled(small, objects / 10);
  const largeUrl = await startFilled(large, objects);
  const koaUrl = await koa.call<string>('start');
  await copyAnswer(largeUrl + path, koaUrl);
  const request = (): string => formatRequest('GET', path);
  const load = (url: string) => () => loadHttp({ url, connections, seconds, request });
  const found = await alternate(rounds, { small: load(smallUrl), large: load(largeUrl), limit: load(koaUrl) });
  const growth = { ours: found.large, limit: found.small };
  return [
    rowOf(objects / 10, { ours: found.small, limit: found.limit }),
    rowOf(objects, { ours: found.large, limit: found.limit }),
    { name: 'list-page, 10 x the objects', ...growth, target: ratioAtLeast(0.8, growth) },
  ];
}

function rowOf(objects: number, { ours, limit }: Comparison): Row {
  const name = `list-page, 20 of ${matching.toString()} in ${objects.toLocaleString('en-US')}`;
  return { name, ours, limit, target: p99AtMost(5, ours) };
}

async function startFilled(server: Child, count: number): Promise<string> {
  const url = await server.call<string>('start', 'memory:');
  await server.call('register', threeIndexes);
  await server.call('fill', { count, matching: Math.min(matching, count) });
  return url;
}
