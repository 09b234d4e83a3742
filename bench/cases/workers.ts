import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '@homeostat/controller-runtime';
import { silentLogger } from '@homeostat/controller-runtime/api';
import type { CaseContext } from '../case.ts';
import { Child } from '../child.ts';
import { median } from '../figures.ts';
import { formatRequest, loadHttp } from '../http-load.ts';
import { personsPath, threeIndexes } from '../person.ts';
import { creations } from '../person-server.ts';
import type { Row } from '../result-table.ts';
import { loadModule } from '../server-modules.ts';
import type { Settings } from '../settings.ts';

/** The connections to all workers together. */
const connections = 64;

/** The objects that reads use in turn. */
const objects = 1_000;

/** Empty calls, one after the other. */
const hops = 10_000;

const { openStore } = await loadModule('store/open/database-url');

/** The goals of the process that has the database. */
const mostOfOwner = { create: 22, get: 4 } as const;

/** The operations; the last one is a creation at the first worker, which the other one only follows. */
const verbs = ['create', 'get', 'create at one of them'] as const;
type Verb = (typeof verbs)[number];

/** Processor time in microseconds for an operation of all workers together. */
interface Cost {
  /** The main thread of the process that has the database. */
  readonly owner: number;
  /** The busiest other thread of that process: SQLite's. */
  readonly sqlite: number;
  /** The main threads of the workers that get the requests. */
  readonly workers: number;
  /** The main threads of the other workers. */
  readonly followers: number;
}

/** Measures the processor time of each process of `serve --workers` for an operation, with one worker and with two. */
export async function workers({ settings, folder, only }: CaseContext): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const count of [1, 2]) {
    if (`workers: ${count.toString()}`.includes(only) || only === '')
      rows.push(...(await costsWith(count, { settings, file: join(folder, `workers-${count.toString()}.db`) })));
  }
  return [...rows, await hopRow(join(folder, 'hop.db'))];
}

interface Setup {
  readonly settings: Settings;
  readonly file: string;
}

async function costsWith(count: number, { settings, file }: Setup): Promise<readonly Row[]> {
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
    return await rowsOf({ owner, servers }, settings);
  } finally {
    await Promise.all(servers.map(({ child }) => child[Symbol.asyncDispose]()));
  }
}

async function rowsOf({ owner, servers }: Processes, { rounds, seconds }: Settings): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const verb of servers.length === 1 ? verbs.slice(0, 2) : verbs) {
    const costs: Cost[] = [];
    for (let round = 0; round <= rounds; round += 1) costs.push(await costOf(verb, { owner, servers, seconds }));
    rows.push(rowOf({ verb, count: servers.length }, costs.slice(1)));
  }
  return rows;
}

interface Server {
  readonly child: Child;
  readonly url: string;
  readonly create: () => string;
}

interface Processes {
  readonly owner: Child;
  readonly servers: readonly Server[];
}

interface Round extends Processes {
  readonly seconds: number;
}

async function costOf(verb: Verb, { owner, servers, seconds }: Round): Promise<Cost> {
  let sent = 0;
  const request = (server: Server): string => {
    sent += 1;
    if (verb !== 'get') return server.create();
    return formatRequest('GET', `${personsPath}/p-${(sent % objects).toString()}`);
  };
  const ownerBefore = owner.otherThreadsMs();
  const mainBefore = owner.mainCpuMs();
  const workersBefore = servers.map(({ child }) => child.mainCpuMs());
  const loaded = verb === 'create at one of them' ? servers.slice(0, 1) : servers;
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
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function rowOf({ verb, count }: { readonly verb: Verb; readonly count: number }, costs: readonly Cost[]): Row {
  const costOfPart = (part: keyof Cost): number => median(costs.map((cost) => cost[part]));
  const us = (part: keyof Cost): string => `${costOfPart(part).toFixed(1)} us`;
  const others = costOfPart('followers') === 0 ? '' : `, ${us('followers')} of the other worker`;
  const most = verb === 'get' ? mostOfOwner.get : mostOfOwner.create;
  return {
    name: `workers: ${count.toString()}, ${verb}`,
    target: { text: `${us('owner')} <= ${most.toString()} us`, isMet: costOfPart('owner') <= most },
    note: `of an operation, ${us('workers')} of workers${others}, ${us('owner')} of the process with the database, ${us('sqlite')} of SQLite's thread`,
  };
}

/** The time of a call without work, and the processor time of both sides. */
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
  const note = `${us((performance.now() - startMs) * 1000)}; processor time ${us(here.user + here.system)} here, ${us((owner.mainCpuMs() - ownerBefore) * 1000)} there`;
  await store.close();
  return { name: 'workers: one call, and nothing else', note };
}
