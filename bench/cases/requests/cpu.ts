import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { besideKoa } from './beside-koa.ts';
import type { CaseContext } from '../../measure/case.ts';
import { Child, childrenOf } from '../../processes/child.ts';
import { median } from '../../measure/figures.ts';
import { formatRequest, loadHttp } from '../../load/http-load.ts';
import { newPerson, personsPath, threeIndexes } from '../../load/person.ts';
import type { Row } from '../../measure/result-table.ts';
import type { Settings } from '../../measure/settings.ts';

/** The number of objects. Each update or get uses the next object. */
const objects = 1_000;

const connections = 64;

/**
 * The number of times that the servers are started. One start is not enough: the figures of two processes of the same
 * checkout may differ by up to a third, for their whole run.
 */
const starts = 3;

/**
 * The maximum processor time of an operation, as a multiple of the time that the same operation takes in the checkout
 * that HOMEOSTAT_BENCH_AGAINST names.
 */
const mostRatio = 1.03;

/** Runs the operations of one round. Resolves with their number. */
type Operation = (server: Server, settings: Settings) => Promise<number>;

/** A server of this checkout, or of the one that HOMEOSTAT_BENCH_AGAINST names. */
interface Server {
  readonly child: Child;
  readonly url: string;
  /** The number of the last request; it starts at {@link objects}. Names and values are derived from this number. */
  sent: number;
}

const operations: Readonly<Record<string, Operation>> = {
  'create over HTTP': overHttp((number) =>
    formatRequest('POST', personsPath, bodyOf(`http-${number.toString()}`, number)),
  ),
  'update over HTTP': overHttp((number) => formatRequest('PUT', pathOf(number), bodyOf(nameOf(number), number))),
  'get over HTTP': overHttp((number) => formatRequest('GET', pathOf(number))),
  'list of 20 over HTTP': overHttp(() => formatRequest('GET', `${personsPath}?sort=name,asc&page=3&size=20`)),
  'create in process': inProcess('create', 1),
  'update in process': inProcess('update', 1),
  'get in process': inProcess('get', 4),
  'list of 20 in process': inProcess('list', 1 / 4),
};

function overHttp(format: (number: number) => string): Operation {
  return async (server, { seconds }) => {
    const before = server.sent;
    const request = (): string => format((server.sent += 1));
    await loadHttp({ url: server.url, connections, seconds, request });
    return server.sent - before;
  };
}

/**
 * Returns an operation that executes `verb` in the child process. The number of executions in a round is the setting
 * `writes`, multiplied by `share`. A short operation has a larger share, because a round needs more of them to be long
 * enough.
 */
function inProcess(verb: string, share: number): Operation {
  return async ({ child }, { writes }) => {
    await child.call(verb, writes * share);
    return writes * share;
  };
}

function nameOf(number: number): string {
  return `p-${(number % objects).toString()}`;
}

function pathOf(number: number): string {
  return `${personsPath}/${nameOf(number)}`;
}

function bodyOf(name: string, number: number): string {
  return JSON.stringify(newPerson({ name, number }));
}

/** Measures the processor time of operations, and compares it with another checkout and with bare koa. */
export async function cpu(context: CaseContext): Promise<readonly Row[]> {
  return [...(await besideCheckout(context)), ...(await besideKoa(context))];
}

/**
 * Measures the processor time of an operation in all threads of the server together. If HOMEOSTAT_BENCH_AGAINST names
 * another checkout of this repository, which must be built, compares the times of both. Each figure is the median of
 * all rounds of all starts; the ratio is the median of the ratios of all rounds.
 */
async function besideCheckout({ settings, folder, only }: CaseContext): Promise<readonly Row[]> {
  const rounds = new Map<string, (readonly number[])[]>();
  for (let started = 0; started < starts; started += 1) {
    const each = await mkdtemp(join(folder, 'beside-'));
    for (const [name, measured] of await roundsOfServers(settings, each, only))
      rounds.set(name, [...(rounds.get(name) ?? []), ...measured]);
  }
  return Array.from(rounds, ([name, measured]) => rowOf(name, measured));
}

/**
 * Returns the costs of each operation, by round and server. The first round of each operation is only a warm-up, and is
 * left out.
 */
async function roundsOfServers(
  settings: Settings,
  folder: string,
  only: string,
): Promise<ReadonlyMap<string, readonly (readonly number[])[]>> {
  const against = process.env['HOMEOSTAT_BENCH_AGAINST'];
  await using ours = new Child('api-server');
  await using other = against === undefined ? undefined : new Child('api-server', [], childrenOf(against));
  const servers = [await start(ours, join(folder, 'ours.db'))];
  if (other !== undefined) servers.push(await start(other, join(folder, 'other.db')));
  const measured = new Map<string, readonly (readonly number[])[]>();
  const count = Math.ceil(settings.rounds / starts);
  for (const [name, operation] of Object.entries(operations)) {
    if (!name.includes(only)) continue;
    const rounds: (readonly number[])[] = [];
    for (let round = 0; round <= count; round += 1)
      rounds.push(await takeTurns(servers, round, (server) => costOf(server, operation, settings)));
    measured.set(name, rounds.slice(1));
  }
  return measured;
}

/**
 * Returns the cost for each server, in the order of the servers. In every second round, the servers run in reverse
 * order.
 */
async function takeTurns(
  servers: readonly Server[],
  round: number,
  measure: (server: Server) => Promise<number>,
): Promise<readonly number[]> {
  const costs = new Map<Server, number>();
  for (const server of round % 2 === 0 ? servers : servers.toReversed()) costs.set(server, await measure(server));
  return servers.map((server) => costs.get(server) ?? Number.NaN);
}

async function start(child: Child, file: string): Promise<Server> {
  const url = await child.call<string>('start', `sqlite:${file}`);
  await child.call('register', threeIndexes);
  await child.call('create', objects);
  return { child, url, sent: objects };
}

/** Resolves with the processor time of one operation, in microseconds. */
async function costOf(server: Server, operation: Operation, settings: Settings): Promise<number> {
  const beforeMs = server.child.cpuMs();
  const count = await operation(server, settings);
  return ((server.child.cpuMs() - beforeMs) / count) * 1000;
}

/**
 * Returns the row for the costs of all rounds. A round has the cost of this checkout, and that of the other checkout if
 * there is one.
 */
function rowOf(name: string, rounds: readonly (readonly number[])[]): Row {
  const costOfContestant = (index: number): number => median(rounds.map((costs) => costs[index] ?? Number.NaN));
  const text = `${costOfContestant(0).toFixed(1)} us`;
  if (rounds[0]?.length === 1) return { name: `cpu: ${name}`, note: text };
  const ratio = median(rounds.map(([ours = Number.NaN, other = Number.NaN]) => ours / other));
  const target = { text: `${ratio.toFixed(3)} <= ${mostRatio.toString()}`, isMet: ratio <= mostRatio };
  return { name: `cpu: ${name}`, target, note: `${text}; the other checkout: ${costOfContestant(1).toFixed(1)} us` };
}
