import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '@homeostat/controller-runtime';
import { silentLogger } from '@homeostat/controller-runtime/api';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import { median } from '../../measure/figures.ts';
import { formatRequest, loadHttp } from '../../load/http-load.ts';
import { personsPath, threeIndexes } from '../../load/person.ts';
import { creations } from '../../load/person-server.ts';
import type { Row } from '../../measure/result-table.ts';
import { loadModule } from '../../processes/server-modules.ts';
import type { Settings } from '../../measure/settings.ts';

/** The number of connections to all workers together. */
const connections = 64;

/** The number of objects. Each read uses the next object. */
const objects = 1_000;

/** The number of measured calls that do no work. They are made one after the other. */
const hops = 10_000;

const { openStore } = await loadModule('store/open/database-url');

/**
 * The processor time of a POST to bare koa, in microseconds. It was measured, without other work, on the machine for
 * which the goals were set.
 */
const koaOfGoals = 28;

/**
 * The goals for the main thread of the process that has the database: the maximum processor time of one operation, in
 * microseconds, on a machine where bare koa takes {@link koaOfGoals} for a POST.
 */
const mostOfOwner = { create: 22, get: 4 } as const;

/**
 * The goals for eight cores: the minimum number of operations per second, on a machine where bare koa takes
 * {@link koaOfGoals} for a POST.
 */
const leastOfEight = { create: 28_000, get: 150_000 } as const;

/** The number of workers that `--workers auto` starts on eight cores. */
const workersOfEight = 6;

/**
 * The operations. In the last one, the first worker receives all creates, and the other worker only follows the
 * changes.
 */
const verbs = ['create', 'get', 'create at one worker'] as const;
type Verb = (typeof verbs)[number];

/**
 * The processor time that one operation costs in each thread or group of threads, in microseconds. The times of several
 * workers are added up.
 */
interface Cost {
  /** The processor time of the main thread of the process that has the database. */
  readonly owner: number;
  /**
   * The processor time of SQLite's thread. The benchmark takes the busiest thread of the process that has the database,
   * except its main thread.
   */
  readonly sqlite: number;
  /** The processor time of the main threads of all workers that receive requests. */
  readonly workers: number;
  /** The processor time of the main threads of all workers that receive no requests. */
  readonly followers: number;
  /** The processor time of the main thread of bare koa, for a POST. */
  readonly koa: number;
}

/**
 * Measures the processor time of an operation in each process of `serve --workers`, with one worker and with two. For
 * comparison, also measures the processor time of bare koa.
 */
export async function workers({ settings, folder, only }: CaseContext): Promise<readonly Row[]> {
  await using koa = new Child('koa-echo');
  const unit = { child: koa, url: await koa.call<string>('start'), create: creations('koa') };
  const rows: Row[] = [];
  for (const count of [1, 2]) {
    const file = join(folder, `workers-${count.toString()}.db`);
    if (`workers: ${count.toString()}`.includes(only)) rows.push(...(await costsWith(count, { settings, file, unit })));
  }
  return [...rows, await hopRow(join(folder, 'hop.db'))];
}

interface Setup {
  readonly settings: Settings;
  readonly file: string;
  readonly unit: Server;
}

async function costsWith(count: number, { settings, file, unit }: Setup): Promise<readonly Row[]> {
  await using owner = new Child('database-owner');
  const database = await owner.call<string>('start', file);
  const servers: Server[] = [];
  try {
    for (let number = 0; number < count; number += 1) {
      const child = new Child('api-server');
      servers.push({ child, url: await child.call('start', database), create: creations(`w${number.toString()}`) });
      await child.call('register', threeIndexes);
    }
    await servers[0]?.child.call('fill', { count: objects });
    return await rowsOf({ owner, servers, unit }, settings);
  } finally {
    await Promise.all(servers.map(({ child }) => child[Symbol.asyncDispose]()));
  }
}

async function rowsOf(processes: Processes, { rounds, seconds }: Settings): Promise<readonly Row[]> {
  const count = processes.servers.length;
  const measured = new Map<Verb, Cost>();
  for (const verb of count === 1 ? verbs.slice(0, 2) : verbs) {
    const costs: Cost[] = [];
    for (let round = 0; round <= rounds; round += 1) costs.push(await costOf(verb, { ...processes, seconds }));
    measured.set(verb, medianOf(costs.slice(1)));
  }
  const rows = Array.from(measured, ([verb, cost]) => rowOf({ verb, count }, cost));
  const [single, get] = [measured.get('create at one worker'), measured.get('get')];
  return single === undefined || get === undefined ? rows : [...rows, ...rowsOfEight(single, get)];
}

function medianOf(costs: readonly Cost[]): Cost {
  const part = (name: keyof Cost): number => median(costs.map((cost) => cost[name]));
  return {
    owner: part('owner'),
    sqlite: part('sqlite'),
    workers: part('workers'),
    followers: part('followers'),
    koa: part('koa'),
  };
}

interface Server {
  readonly child: Child;
  readonly url: string;
  readonly create: () => string;
}

interface Processes {
  readonly owner: Child;
  readonly servers: readonly Server[];
  readonly unit: Server;
}

interface Round extends Processes {
  readonly seconds: number;
}

async function costOf(verb: Verb, { owner, servers, unit, seconds }: Round): Promise<Cost> {
  let sent = 0;
  const request = (server: Server): string => {
    sent += 1;
    if (verb !== 'get') return server.create();
    return formatRequest('GET', `${personsPath}/p-${(sent % objects).toString()}`);
  };
  const ownerBefore = owner.otherThreadsMs();
  const mainBefore = owner.mainCpuMs();
  const workersBefore = servers.map(({ child }) => child.mainCpuMs());
  const loaded = verb === 'create at one worker' ? servers.slice(0, 1) : servers;
  const share = connections / loaded.length;
  await Promise.all(
    loaded.map((server) => loadHttp({ url: server.url, connections: share, seconds, request: () => request(server) })),
  );
  const perOperation = (ms: number): number => (ms * 1000) / sent;
  const ofOwner = owner.mainCpuMs() - mainBefore;
  const ofThreads = [...owner.otherThreadsMs()].map(([id, ms]) => ms - (ownerBefore.get(id) ?? 0));
  const ofWorkers = servers.map(({ child }, at) => child.mainCpuMs() - (workersBefore[at] ?? 0));
  return {
    owner: perOperation(ofOwner),
    sqlite: perOperation(Math.max(...ofThreads)),
    workers: perOperation(sum(ofWorkers.slice(0, loaded.length))),
    followers: perOperation(sum(ofWorkers.slice(loaded.length))),
    koa: await costOfKoa(unit, seconds),
  };
}

async function costOfKoa({ child, url, create }: Server, seconds: number): Promise<number> {
  let sent = 0;
  const request = (): string => {
    sent += 1;
    return create();
  };
  const before = child.mainCpuMs();
  await loadHttp({ url, connections, seconds: seconds / 2, request });
  return ((child.mainCpuMs() - before) * 1000) / sent;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/**
 * Returns the row of an operation. The goal applies to the ratio of two processor times: that of the process with the
 * database, and that of koa. The times alone differ between machines, and on one machine from hour to hour.
 */
function rowOf({ verb, count }: { readonly verb: Verb; readonly count: number }, cost: Cost): Row {
  const us = (part: keyof Cost): string => `${cost[part].toFixed(1)} us`;
  const others = cost.followers === 0 ? '' : `, ${us('followers')} in the other worker`;
  const most = (verb === 'get' ? mostOfOwner.get : mostOfOwner.create) / koaOfGoals;
  const ratio = cost.owner / cost.koa;
  return {
    name: `workers: ${count.toString()}, ${verb}, processor time of the process with the database, divided by koa’s`,
    target: { text: `${ratio.toFixed(2)} <= ${most.toFixed(2)}`, isMet: ratio <= most },
    note: `processor time of an operation: ${us('workers')} in the workers that receive requests${others}, ${us('owner')} in the main thread of the process with the database, ${us('sqlite')} in SQLite's thread; koa: ${us('koa')}`,
  };
}

/**
 * Returns the rows with the operations per second on eight cores. These rates are not measured, but computed from the
 * processor time of the busiest thread, for a machine on which a POST to bare koa takes {@link koaOfGoals} microseconds
 * of processor time.
 */
function rowsOfEight(create: Cost, get: Cost): readonly Row[] {
  const perWorker = (create.workers + (workersOfEight - 1) * create.followers) / workersOfEight;
  const creates = Math.max(perWorker, create.owner, create.sqlite) / create.koa;
  const gets = Math.max(get.workers / workersOfEight, get.owner) / get.koa;
  return Object.entries({ create: creates, get: gets }).map(([verb, units]) => {
    const perSecond = 1_000_000 / (units * koaOfGoals);
    const least = leastOfEight[verb as keyof typeof leastOfEight];
    return {
      name: `workers: ${workersOfEight.toString()} on 8 cores, ${verb}, computed`,
      target: { text: `${perSecond.toFixed(0)} >= ${least.toString()}/s`, isMet: perSecond >= least },
      note: `the rate that is compared with the goal is for a machine where koa takes ${koaOfGoals.toString()} us for a POST; the rate computed for this machine: ${(perSecond * (koaOfGoals / (verb === 'get' ? get : create).koa)).toFixed(0)}/s`,
    };
  });
}

/** Measures a call between two processes that does no work: its time, and the processor time of both processes. */
async function hopRow(file: string): Promise<Row> {
  await using owner = new Child('database-owner');
  const database = await owner.call<string>('start', file);
  const store = await openStore(database, { clock: systemClock, logger: silentLogger, uuid: randomUUID });
  await store.open();
  for (let call = 0; call < hops; call += 1) await store.currentRevision();
  const [startMs, before, ownerBefore] = [performance.now(), process.cpuUsage(), owner.mainCpuMs()];
  for (let call = 0; call < hops; call += 1) await store.currentRevision();
  const here = process.cpuUsage(before);
  const us = (total: number): string => `${(total / hops).toFixed(1)} us`;
  const note = `${us((performance.now() - startMs) * 1000)} elapsed; processor time ${us(here.user + here.system)} in the caller, ${us((owner.mainCpuMs() - ownerBefore) * 1000)} in the called process`;
  await store.close();
  return { name: 'workers: one call between two processes, without work', note };
}
