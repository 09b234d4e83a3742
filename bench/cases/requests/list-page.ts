import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { Filling } from '../../children/api-server.ts';
import { copyAnswer } from '../../load/copy-answer.ts';
import { formatRequest, loadHttp } from '../../load/http-load.ts';
import { personsPath, threeIndexes } from '../../load/person.ts';
import { p99AtMost, ratioAtLeast } from '../../measure/result-table.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';

/**
 * The maximum number of objects that match the field selector. The number of matching objects is the same in the small
 * and in the large kind. In the small kind, at most half of the objects match.
 */
const mostMatching = 500;

const connections = 8;

const path = `${personsPath}?fieldSelector=spec.city=home&sort=spec.name,asc&page=3&size=20`;

/**
 * Measures a page of a sorted list with a selector, and the same page in a kind with more objects that do not match.
 */
export async function listPage({ settings }: CaseContext): Promise<readonly Row[]> {
  await using small = new Child('api-server');
  await using large = new Child('api-server');
  await using koa = new Child('koa-echo');
  const { rounds, seconds, objects } = settings;
  const matching = Math.min(mostMatching, objects / 20);
  const smallUrl = await startFilled(small, { count: objects / 10, matching });
  const largeUrl = await startFilled(large, { count: objects, matching });
  const koaUrl = await koa.call<string>('start');
  await copyAnswer(largeUrl + path, koaUrl);
  const request = (): string => formatRequest('GET', path);
  const load = (url: string) => () => loadHttp({ url, connections, seconds, request });
  const found = await alternate(rounds, { small: load(smallUrl), large: load(largeUrl), limit: load(koaUrl) });
  const growth = { ours: found.large, limit: found.small };
  const name = (count: number): string => `list-page, 20 of ${matching.toString()} in ${count.toLocaleString('en-US')}`;
  return [
    { name: name(objects / 10), ours: found.small, limit: found.limit, target: p99AtMost(5, found.small) },
    { name: name(objects), ours: found.large, limit: found.limit, target: p99AtMost(5, found.large) },
    { name: 'list-page, 10 x the objects', ...growth, target: ratioAtLeast(0.8, growth) },
  ];
}

async function startFilled(server: Child, filling: Filling): Promise<string> {
  const url = await server.call<string>('start', 'memory:');
  await server.call('register', threeIndexes);
  await server.call('fill', filling);
  return url;
}
