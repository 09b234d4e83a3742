import { join } from 'node:path';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import { median } from '../../measure/figures.ts';
import { formatRequest, loadHttp } from '../../load/http-load.ts';
import { newPerson, personsPath } from '../../load/person.ts';
import { creations, protectedServer, startedServer, userToken } from '../../load/person-server.ts';
import type { Row } from '../../measure/result-table.ts';
import type { Settings } from '../../measure/settings.ts';

const connections = 64;

/** The number of objects. Each update or read uses the next object. */
const objects = 1_000;

/**
 * The maximum cost of each operation, as a multiple of the cost of a request to bare koa, which sends the body back.
 */
const goals = { create: 1.9, update: 2, get: 1 } as const;

/** The maximum cost with checks of credentials and permissions, as a multiple of the maximum cost without them. */
const shareOfRequired = 1.05;

interface Contestant {
  readonly name: string;
  readonly child: Child;
  readonly url: string;
  readonly request: () => string;
  /** The maximum cost, as a multiple of the cost of koa; absent for a row without a goal. */
  readonly most?: number;
}

/**
 * Measures the processor time of the main thread for one operation, as a multiple of the time of a POST to bare koa,
 * which sends the body back. The operations and the requests to koa run alternately.
 */
export async function besideKoa({ settings, folder, only }: CaseContext): Promise<readonly Row[]> {
  await using koa = new Child('koa-echo');
  await using open = new Child('api-server');
  await using required = new Child('api-server');
  const koaUrl = await koa.call<string>('start');
  const openUrl = await startedServer(open, { database: `sqlite:${join(folder, 'beside-koa.db')}`, auth: 'open' });
  const requiredUrl = await protectedServer(required, join(folder, 'beside-koa-required'));
  for (const child of [open, required]) await child.call('fill', { count: objects });
  await using least = new Child('least-server');
  const leastUrl = await least.call<string>('start', `sqlite:${join(folder, 'beside-koa-least.db')}`);
  await least.call('create', objects);
  const contestants: readonly Contestant[] = [
    ...contestantsOf('open', { child: open, url: openUrl }),
    ...contestantsOf('required', { child: required, url: requiredUrl, token: userToken }),
    ...contestantsOf('the least', { child: least, url: leastUrl }).filter(({ name }) => !name.startsWith('get')),
  ].filter(({ name }) => name.includes(only));
  if (contestants.length === 0) return [];
  const unit = { name: 'koa', child: koa, url: koaUrl, request: creations('koa') };
  const rounds: (readonly number[])[] = [];
  for (let round = 0; round <= settings.rounds; round += 1) {
    rounds.push(await takeTurns([unit, ...contestants], round, settings));
  }
  return contestants.map((contestant, index) => rowOf(contestant, index + 1, rounds.slice(1)));
}

interface Target {
  readonly child: Child;
  readonly url: string;
  readonly token?: string;
}

/** `the least` is a server that checks nothing. Its rows have no goals. */
function contestantsOf(auth: 'open' | 'required' | 'the least', { child, url, token }: Target): readonly Contestant[] {
  const share = auth === 'open' ? 1 : shareOfRequired;
  const bodyOf = (name: string, number: number): string => JSON.stringify(newPerson({ name, number }));
  const sent = (body = ''): string | { body: string; token: string } => (token === undefined ? body : { body, token });
  let number = objects;
  const next = (): string => `p-${((number += 1) % objects).toString()}`;
  const update = (): string => {
    const name = next();
    return formatRequest('PUT', `${personsPath}/${name}`, sent(bodyOf(name, number)));
  };
  const get = (): string => formatRequest('GET', `${personsPath}/${next()}`, sent());
  const made = { create: creations('new', token), update, get };
  return (['create', 'update', 'get'] as const).map((verb) => ({
    name: `${verb}, ${auth}, CPU time as a multiple of koa's`,
    child,
    url,
    request: made[verb],
    ...(auth === 'the least' ? {} : { most: goals[verb] * share }),
  }));
}

/**
 * Returns the cost of one operation for each contestant, in microseconds. In every second round, the contestants run in
 * reverse order.
 */
async function takeTurns(
  contestants: readonly Contestant[],
  round: number,
  settings: Settings,
): Promise<readonly number[]> {
  const costs = new Map<Contestant, number>();
  for (const contestant of round % 2 === 0 ? contestants : contestants.toReversed()) {
    costs.set(contestant, await costOf(contestant, settings));
  }
  return contestants.map((contestant) => costs.get(contestant) ?? Number.NaN);
}

async function costOf({ child, url, request }: Contestant, { seconds }: Settings): Promise<number> {
  let sent = 0;
  const counted = (): string => {
    sent += 1;
    return request();
  };
  const beforeMs = child.mainCpuMs();
  await loadHttp({ url, connections, seconds, request: counted });
  return ((child.mainCpuMs() - beforeMs) / sent) * 1000;
}

function rowOf({ name, most }: Contestant, index: number, rounds: readonly (readonly number[])[]): Row {
  const ratio = median(rounds.map((costs) => (costs[index] ?? Number.NaN) / (costs[0] ?? Number.NaN)));
  const costOfContestant = (at: number): string => median(rounds.map((costs) => costs[at] ?? Number.NaN)).toFixed(1);
  const note = `${costOfContestant(index)} us of CPU time of the main thread per request; koa: ${costOfContestant(0)} us`;
  if (most === undefined) return { name: `cpu: ${name}`, note: `${ratio.toFixed(2)}: ${note}` };
  const target = { text: `${ratio.toFixed(2)} <= ${most.toFixed(2)}`, isMet: ratio <= most };
  return { name: `cpu: ${name}`, target, note };
}
