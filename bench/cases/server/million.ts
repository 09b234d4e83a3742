import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import { median } from '../../measure/figures.ts';
import type { Figures } from '../../measure/figures.ts';
import { formatRequest, HttpConnection, loadHttp } from '../../load/http-load.ts';
import { loadPaced } from '../../load/paced-load.ts';
import type { PacedLoad } from '../../load/paced-load.ts';
import { newPerson, personsPath, storedPerson, threeIndexes } from '../../load/person.ts';
import { p99AtMost } from '../../measure/result-table.ts';
import type { Row, Target } from '../../measure/result-table.ts';
import type { Settings } from '../../measure/settings.ts';

const mostP99Ms = 50;
const mostPauseMs = 100;
const mostBytesEach = 1.6 * 1024;
const mostFirstAnswerMs = 2_000;
const mostIndexesMs = 10_000;
const mostPageRatio = 1.1;

/** The number of objects of the small kind, whose pages are compared with those of the large kind. */
const fewObjects = 10_000;

/** The time for which requests do not count, because a new process responds more slowly until its code is compiled. */
const warmUpSeconds = 1;

/**
 * The number of objects, divided by this constant, is the number of seconds for which updates at half of the maximum
 * rate are measured: about four minutes for a million objects.
 */
const updatedInSeconds = 4_000;

/** For comparison with the server, bare SQLite updates the rows of a small database. This is the number of its rows. */
const roundSize = 1_000;

const connections = 64;
const pageConnections = 8;

/**
 * In each round, the two compared servers are measured alternately, this many times each. So a machine whose speed
 * changes within seconds has about the same speed for both servers.
 */
const turnsOfRound = 8;

const pages: Readonly<Record<string, string>> = {
  'a page': '?sort=spec.name,asc&page=3&size=20',
  'no match': '?fieldSelector=spec.city=nowhere&sort=spec.name,asc&page=1&size=20',
};

/** The queries that need the indexes which are built on demand, one query for each index. */
const onDemand: readonly string[] = [
  '?sort=metadata.name,asc&page=1&size=1',
  '?labelSelector=team=none&page=1&size=1',
  '?sort=metadata.creationTimestamp,asc&page=1&size=1',
  '?sort=metadata.deletionTimestamp,asc&page=1&size=1',
];

/** A server whose kind has many objects of 1 KB and three indexes. */
interface Filled {
  readonly child: Child;
  readonly url: string;
  readonly objects: number;
}

/** Measures the cost of very many objects: memory, pauses during writes, pages of lists, and a start. */
export async function million({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  const { manyObjects: objects } = settings;
  const file = join(folder, 'million.db');
  const rows: Row[] = [];
  {
    await using child = new Child('api-server', ['--expose-gc']);
    rows.push(...(await fillRows(child, file, objects)));
    const filled = { child, url: await child.call<string>('url'), objects };
    rows.push(
      ...(await pageRows(filled, settings)),
      ...(await churnRows(filled, { settings, folder })),
      await stopRow(child),
    );
  }
  rows.push(...(await restarts(file)));
  const count = objects.toLocaleString('en-US');
  return rows.map((row) => ({ ...row, name: `${count} objects: ${row.name}` }));
}

/** Measures an orderly stop, which writes the snapshots. */
async function stopRow(child: Child): Promise<Row> {
  await child.call('takeLongestMs');
  const startMs = performance.now();
  await child.call('stop');
  const tookMs = performance.now() - startMs;
  const pauseMs = await child.call<number>('takeLongestMs');
  const note = `the stop took ${tookMs.toFixed(0)} ms`;
  return {
    name: 'longest turn of the event loop during an orderly stop',
    target: atMost(pauseMs, mostPauseMs, 'ms'),
    note,
  };
}

/**
 * Measures three restarts. The first one has snapshots, the second one only kept records, and the third one neither.
 * Each stop writes snapshots, so this function deletes them before the second and the third restart.
 */
async function restarts(file: string): Promise<readonly Row[]> {
  const snapshots = `${file}-snapshots`;
  const rows: Row[] = [];
  await using bare = new Child('bare-sqlite');
  const filesMs = await bare.call<number>('readFiles', snapshots);
  rows.push(...(await restartRows(file, 'restart')));
  rows.push({
    name: 'restart, the least possible time',
    note: `${filesMs.toFixed(0)} ms to read the same bytes from a file, and nothing else`,
  });
  await rm(snapshots, { recursive: true });
  rows.push(...(await restartRows(file, 'restart, without snapshots')));
  const rowsMs = await bare.call<number>('readRows', file);
  rows.push({
    name: 'restart, without snapshots, the least possible time',
    note: `${rowsMs.toFixed(0)} ms to read all rows, and nothing else`,
  });
  await bare.call('forget', file);
  await rm(snapshots, { recursive: true });
  rows.push(...(await restartRows(file, 'restart, nothing kept')));
  return rows;
}

interface MemoryUse {
  /** The bytes of all live JavaScript objects. */
  readonly heap: number;
  readonly resident: number;
}

async function fillRows(child: Child, file: string, count: number): Promise<readonly Row[]> {
  const before = await child.call<MemoryUse>('memoryUse');
  await child.call('start', `sqlite:${file}`);
  await child.call('register', threeIndexes);
  const startMs = performance.now();
  await child.call('fill', { count });
  const perSecond = (count / (performance.now() - startMs)) * 1000;
  const parts = await child.call<MemoryParts>('memoryParts');
  const resident = parts.resident / count;
  const after = await child.call<MemoryUse>('memoryUse');
  const heap = (after.heap - before.heap) / count;
  const bytes = await bytesOfOne(child);
  return [
    { name: 'fill', note: `${perSecond.toFixed(0)} creates/s in process` },
    {
      name: 'memory of an object',
      target: atMost(resident, mostBytesEach, 'bytes resident'),
      note: `memory of the whole process, divided by the number of objects: ${formatParts(parts, count)}; after a garbage collection, ${heap.toFixed(0)} bytes of heap and ${(after.resident / count).toFixed(0)} bytes resident; the object itself has ${bytes.toString()} bytes`,
    },
    await leastMemory(count, bytes),
  ];
}

/** The resident memory of a process, and its parts, in bytes. */
interface MemoryParts {
  readonly resident: number;
  readonly buffers: number;
  readonly heap: number;
}

function formatParts({ resident, buffers, heap }: MemoryParts, objects: number): string {
  const each = (bytes: number): string => (bytes / objects).toFixed(0);
  return `${each(buffers)} bytes of buffers, ${each(heap)} of heap, ${each(resident - buffers - heap)} of other memory`;
}

/** Measures the memory of a process that has the bytes of the objects, and nothing else. */
async function leastMemory(count: number, bytes: number): Promise<Row> {
  await using bare = new Child('bare-sqlite');
  const resident = (await bare.call<number>('hold', count * bytes)) / count;
  const note = `${resident.toFixed(0)} bytes resident for each object, in a process with only the objects' bytes`;
  return { name: 'the least memory of an object', note };
}

/** Returns the size of an object in a response, the least memory that an object can need. */
async function bytesOfOne(child: Child): Promise<number> {
  const response = await fetch(`${await child.call<string>('url')}${personsPath}/p-0`);
  return (await response.arrayBuffer()).byteLength;
}

/** Compares the processor time of a page in a kind with many objects with that of a page in a kind with few objects. */
async function pageRows(many: Filled, settings: Settings): Promise<readonly Row[]> {
  await using child = new Child('api-server');
  const url = await child.call<string>('start', 'memory:');
  await child.call('register', threeIndexes);
  const objects = Math.min(fewObjects, many.objects);
  await child.call('fill', { count: objects });
  const rows: Row[] = [];
  for (const [name, query] of Object.entries(pages)) {
    const { own, other, ratio } = await compare([many, { child, url }], query, settings);
    const note = `${own.toFixed(0)} us of processor time; with ${objects.toLocaleString('en-US')} objects: ${other.toFixed(0)} us`;
    rows.push({ name, target: atMost(ratio, mostPageRatio, 'times the time with few objects'), note });
  }
  return [...rows, await leastPageRow(many, settings)];
}

/**
 * Compares the processor time of a GET at two processes of bare koa: one that uses as much memory as the server with
 * many objects, and a small one.
 */
async function leastPageRow(many: Filled, settings: Settings): Promise<Row> {
  await using large = new Child('koa-echo');
  await using small = new Child('koa-echo');
  const { resident } = await many.child.call<MemoryParts>('memoryParts');
  await large.call('hold', resident);
  const urls = { large: await large.call<string>('start'), small: await small.call<string>('start') };
  const both = [
    { child: large, url: urls.large },
    { child: small, url: urls.small },
  ] as const;
  const { own, other, ratio } = await compare(both, '', settings);
  const note = `${own.toFixed(0)} us of processor time for bare koa in a process with as much memory as this server, ${other.toFixed(0)} us in a small process; median of their ratios: ${ratio.toFixed(2)}`;
  return { name: 'the least processor time of a page', note };
}

/** A process that gets requests. */
type Asked = Pick<Filled, 'child' | 'url'>;

/** Resolves with the median processor times of a page at two servers, and with the median of their ratios. */
async function compare(
  [first, second]: readonly [Asked, Asked],
  query: string,
  { rounds, seconds }: Settings,
): Promise<Readonly<Record<'own' | 'other' | 'ratio', number>>> {
  const costs = { own: [] as number[], other: [] as number[], ratio: [] as number[] };
  const turn = seconds / turnsOfRound;
  for (let round = 0; round < (rounds + 1) * turnsOfRound; round += 1) {
    const [own, other] = [await pageCost(first, query, turn), await pageCost(second, query, turn)];
    if (round < turnsOfRound) continue;
    costs.own.push(own);
    costs.other.push(other);
    costs.ratio.push(own / other);
  }
  return { own: median(costs.own), other: median(costs.other), ratio: median(costs.ratio) };
}

/** Resolves with the processor time of one page, in microseconds. */
async function pageCost({ child, url }: Asked, query: string, seconds: number): Promise<number> {
  let sent = 0;
  const request = (): string => {
    sent += 1;
    return formatRequest('GET', personsPath + query);
  };
  const beforeMs = child.cpuMs();
  await loadHttp({ url, connections: pageConnections, seconds, request });
  return ((child.cpuMs() - beforeMs) / sent) * 1000;
}

/**
 * Measures updates at half and at a quarter of the maximum rate. Two consecutive updates change objects that are far
 * apart in the order of names.
 */
async function churnRows(
  { child, url, objects }: Filled,
  { settings, folder }: Pick<CaseContext, 'settings' | 'folder'>,
): Promise<readonly Row[]> {
  const request = updates(objects);
  const load = { url, connections, request };
  await loadHttp({ ...load, seconds: warmUpSeconds });
  const { opsPerSecond: most } = await loadHttp({ ...load, seconds: settings.seconds * settings.rounds });
  await child.call('takeLongestMs');
  const seconds = objects / updatedInSeconds;
  const beforeMs = child.cpuMs();
  const ours = await loadPaced({ ...load, seconds, perSecond: most / 2 });
  const each = ((child.cpuMs() - beforeMs) / (ours.opsPerSecond * seconds)) * 1000;
  const pauseMs = await child.call<number>('takeLongestMs');
  const parts = await child.call<MemoryParts>('memoryParts');
  const slower = await loadPaced({ ...load, seconds: seconds / 2, perSecond: most / 4 });
  const least = await leastUpdates(folder, { seconds, perSecond: most / 2 });
  return [
    {
      name: 'updates over HTTP, sent at half of the maximum rate',
      ours,
      target: p99AtMost(mostP99Ms, ours),
      note: `the server makes at most ${most.toFixed(0)} updates/s; an update takes ${each.toFixed(0)} us of processor time`,
    },
    { name: 'updates over HTTP, sent at a quarter of the maximum rate', ours: slower },
    {
      name: "the same updates, sent to bare koa at half of our server's maximum rate",
      ours: await leastOverHttp({ connections, request }, { seconds: seconds / 2, perSecond: most / 2 }),
      note: 'bare koa stores nothing, and sends the bodies back: the least possible time of an update over HTTP',
    },
    {
      name: "updates by better-sqlite3 alone, at half of our server's maximum rate",
      ours: least,
      note: 'rows of the same size, without a server and a load generator: the least possible time of the database',
    },
    { name: 'longest turn of the event loop during the updates', target: atMost(pauseMs, mostPauseMs, 'ms') },
    {
      name: 'memory of the server for each object, after the updates',
      target: atMost(parts.resident / objects, mostBytesEach, 'bytes resident'),
      note: formatParts(parts, objects),
    },
  ];
}

interface Pace {
  readonly seconds: number;
  readonly perSecond: number;
}

/**
 * Sends the same requests at the same rate to a server that stores nothing. A response that takes long here shows that
 * the machine is slow, or that the load generator is.
 */
async function leastOverHttp(load: Pick<PacedLoad, 'connections' | 'request'>, pace: Pace): Promise<Figures> {
  await using koa = new Child('koa-echo');
  return await loadPaced({ ...load, ...pace, url: await koa.call<string>('start') });
}

/**
 * Measures commits by SQLite alone, without a server: updates of rows of the same size, at the given rate. A commit
 * that takes long here shows that the disk is slow.
 */
async function leastUpdates(folder: string, pace: Pace): Promise<Figures> {
  await using bare = new Child('bare-sqlite');
  const data = storedPerson();
  await bare.call('open', join(folder, 'least.db'));
  await bare.call('create', { count: roundSize, batch: 100, data });
  return await bare.call('updatePaced', { ...pace, data });
}

/**
 * Returns a function that returns the next update. Consecutive updates change different objects, so that two updates of
 * the same object never run at the same time.
 */
function updates(objects: number): () => string {
  let number = objects;
  return () => {
    number += 1;
    const name = `p-${((number * 7919) % objects).toString()}`;
    return formatRequest('PUT', `${personsPath}/${name}`, JSON.stringify(newPerson({ name, number })));
  };
}

async function restartRows(file: string, name: string): Promise<readonly Row[]> {
  await using child = new Child('api-server');
  const startMs = performance.now();
  const url = await child.call<string>('start', `sqlite:${file}`);
  await child.call('register', threeIndexes);
  using connection = await HttpConnection.connect(url);
  await connection.send(formatRequest('GET', `${personsPath}/p-0`));
  const firstMs = performance.now() - startMs;
  for (const query of onDemand) await connection.send(formatRequest('GET', personsPath + query));
  const allMs = performance.now() - startMs;
  const note = `${child.mainCpuMs().toFixed(0)} ms of processor time of the main thread, from the start of the process`;
  await child.call('stop');
  return [
    { name: `${name}, first answer`, target: atMost(firstMs, mostFirstAnswerMs, 'ms') },
    { name: `${name}, all indexes`, target: atMost(allMs, mostIndexesMs, 'ms'), note },
  ];
}

function atMost(value: number, most: number, unit: string): Target {
  const digits = most < 10 ? 2 : 0;
  return { text: `${value.toFixed(digits)} <= ${most.toFixed(digits)} ${unit}`, isMet: value <= most };
}
