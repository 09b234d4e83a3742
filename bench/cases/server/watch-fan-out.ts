import { join } from 'node:path';
import { deliver } from '../../load/deliver.ts';
import type { ReadRound, Writing } from '../../load/deliver.ts';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import { median } from '../../measure/figures.ts';
import type { Figures } from '../../measure/figures.ts';
import { newPerson, personsPath, threeIndexes } from '../../load/person.ts';
import { p99AtMost } from '../../measure/result-table.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';
import type { Settings } from '../../measure/settings.ts';
import { Watchers, watchFromNow } from '../../load/watchers.ts';

/** Selectors that every person matches, but that must be evaluated for each person. */
const selective = '&labelSelector=team!%3Dnone&fieldSelector=spec.name!%3Dnobody';

/** Measures the time from the sending of a write until each of many watchers has received it. */
export async function watchFanOut({ settings, folder, only }: CaseContext): Promise<readonly Row[]> {
  const { watchers, watchedWritesPerSecond, manyWatchers, writesToMany } = settings;
  const few: FanOut = { count: watchers, perSecond: watchedWritesPerSecond, mostP99Ms: 50 };
  const many: FanOut = { count: manyWatchers, perSecond: writesToMany, mostP99Ms: 100 };
  return [
    ...(nameOf(few).includes(only) ? await besideOthers(few, settings, folder) : []),
    ...(nameOf(many).includes(only) ? await toMany(many, settings, folder) : []),
  ];
}

interface FanOut {
  readonly count: number;
  readonly perSecond: number;
  readonly mostP99Ms: number;
}

function nameOf({ count, perSecond }: FanOut): string {
  return `watch-fan-out, ${perSecond.toString()}/s to ${count.toLocaleString('en-US')}`;
}

async function besideOthers(fanOut: FanOut, settings: Settings, folder: string): Promise<readonly Row[]> {
  const { count, perSecond, mostP99Ms } = fanOut;
  await using server = new Child('api-server');
  await using bare = new Child('frame-server');
  const url = await startServer(server, join(folder, 'watch.db'));
  const bareUrl = await bare.call<string>('start');
  using ourWatchers = await Watchers.connect(url + personsPath + watchFromNow, count);
  using bareWatchers = await Watchers.connect(bareUrl, count);
  const ours = { child: server, watchers: ourWatchers, url };
  const limit = { child: bare, watchers: bareWatchers, url: bareUrl };
  const { figures, note } = await deliverByTurns({ settings, perSecond }, ours, limit);
  return [
    { name: nameOf(fanOut), ...figures, target: p99AtMost(mostP99Ms, figures.ours), note },
    await equalSelectors(fanOut, settings, folder),
  ];
}

/**
 * Compares the processor time of a server whose watchers have selectors with that of a server whose watchers have none.
 * Starts both servers, and does not use the server of {@link besideOthers} again: that server has compiled its code in
 * earlier rounds, and would spend less processor time on compilation than a new server.
 */
async function equalSelectors(fanOut: FanOut, settings: Settings, folder: string): Promise<Row> {
  const { count, perSecond } = fanOut;
  await using selecting = new Child('api-server');
  await using plain = new Child('api-server');
  const selectingUrl = await startServer(selecting, join(folder, 'watch-selected.db'));
  const plainUrl = await startServer(plain, join(folder, 'watch-plain.db'));
  using selectors = await Watchers.connect(selectingUrl + personsPath + watchFromNow + selective, count);
  using others = await Watchers.connect(plainUrl + personsPath + watchFromNow, count);
  const ours = { child: selecting, watchers: selectors, url: selectingUrl };
  const limit = { child: plain, watchers: others, url: plainUrl };
  const { figures, cpuMs } = await deliverByTurns({ settings, perSecond }, ours, limit);
  const ratio = cpuMs.ours / cpuMs.limit;
  return {
    name: `${nameOf(fanOut)}, all watchers with selectors`,
    ...figures,
    target: { text: 'processor time <= 1.1 x', isMet: ratio <= 1.1 },
    note: `with selectors, the server takes ${ratio.toFixed(2)} times the processor time that it takes without them`,
  };
}

async function startServer(child: Child, file: string): Promise<string> {
  const url = await child.call<string>('start', `sqlite:${file}`);
  await child.call('register', threeIndexes);
  return url;
}

/**
 * Measures deliveries to as many watchers as a server allows by default, and compares our server with a server that
 * only writes to sockets. The watchers of each server are in a separate process, which has enough file descriptors.
 */
async function toMany(fanOut: FanOut, settings: Settings, folder: string): Promise<readonly Row[]> {
  const { count, perSecond, mostP99Ms } = fanOut;
  await using server = new Child('api-server');
  await using least = new Child('least-watch-server');
  await using ourReader = new Child('watch-reader');
  await using leastReader = new Child('watch-reader');
  const options = { database: `sqlite:${join(folder, 'watch-many.db')}`, maxWatchesPerAddress: count };
  const url = await server.call<string>('startWith', options);
  await server.call('register', threeIndexes);
  const leastUrl = await least.call<string>('start', await bytesOfPerson(url));
  await ourReader.call('connect', { url: url + personsPath + watchFromNow, count });
  await leastReader.call('connect', { url: leastUrl, count });
  const turns = { settings, perSecond };
  const { figures, costUs, busy } = await readByTurns(turns, [
    { child: server, reader: ourReader, url, count },
    { child: least, reader: leastReader, url: leastUrl, count },
  ]);
  const note = `${costUs.ours.toFixed(2)} us of the main thread for each delivery, and ${costUs.limit.toFixed(2)} us of the limit's main thread; the processes that read the deliveries were busy for ${(busy * 100).toFixed(0)} % of the time`;
  return [{ name: nameOf(fanOut), ...figures, target: p99AtMost(mostP99Ms, figures.ours), note }];
}

/** Returns the number of bytes of a person in a response of the server. */
async function bytesOfPerson(url: string): Promise<number> {
  const body = JSON.stringify(newPerson({ name: 'p-0', number: 0 }));
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(url + personsPath, { method: 'POST', headers, body });
  return Buffer.byteLength(await response.text());
}

interface Read {
  readonly child: Child;
  readonly reader: Child;
  readonly url: string;
  readonly count: number;
}

interface ReadFigures extends Pick<Delivered, 'figures'> {
  readonly costUs: { readonly ours: number; readonly limit: number };
  readonly busy: number;
}

async function readByTurns({ settings, perSecond }: Turns, [ours, limit]: readonly [Read, Read]): Promise<ReadFigures> {
  const busy: number[] = [];
  const costsUs = { ours: [] as number[], limit: [] as number[] };
  const writes = Math.ceil(perSecond * settings.seconds);
  const nextNumber = counter();
  const round = async (which: 'ours' | 'limit', { child, reader, url, count }: Read): Promise<Figures> => {
    const beforeMs = child.mainCpuMs();
    const writing: Writing = { url, perSecond, count: writes, firstNumber: nextNumber(writes) };
    const read = await reader.call<ReadRound>('deliver', writing);
    costsUs[which].push(((child.mainCpuMs() - beforeMs) * 1000) / (writes * count));
    busy.push(read.busy);
    return read.figures;
  };
  const figures = await alternate(settings.rounds, {
    ours: () => round('ours', ours),
    limit: () => round('limit', limit),
  });
  // The first round of each contestant does not count.
  const costUs = { ours: median(costsUs.ours.slice(1)), limit: median(costsUs.limit.slice(1)) };
  return { figures, costUs, busy: median(busy.slice(2)) };
}

/**
 * Returns a function that reserves the next `count` numbers, and returns the first of these numbers. The first call
 * begins at 1.
 */
function counter(): (count: number) => number {
  let next = 1;
  return (count) => (next += count) - count;
}

interface Watched {
  readonly child: Child;
  readonly watchers: Watchers;
  readonly url: string;
}

interface Delivered {
  readonly figures: { readonly ours: Figures; readonly limit: Figures };
  /** The processor time of the two servers, in all rounds that count. */
  readonly cpuMs: { readonly ours: number; readonly limit: number };
  readonly note: string;
}

interface Turns {
  readonly settings: Settings;
  readonly perSecond: number;
}

async function deliverByTurns({ settings, perSecond }: Turns, ours: Watched, limit: Watched): Promise<Delivered> {
  const { seconds, rounds } = settings;
  const busy: number[] = [];
  const cpuMs = { ours: [] as number[], limit: [] as number[] };
  const count = Math.ceil(perSecond * seconds);
  const nextNumber = counter();
  const round = async (which: 'ours' | 'limit', { child, watchers, url }: Watched): Promise<Figures> => {
    const before = performance.eventLoopUtilization();
    const beforeMs = child.cpuMs();
    const figures = await deliver(watchers, { url, perSecond, count, firstNumber: nextNumber(count) });
    cpuMs[which].push(child.cpuMs() - beforeMs);
    busy.push(performance.eventLoopUtilization(before).utilization);
    return figures;
  };
  const figures = await alternate(rounds, { ours: () => round('ours', ours), limit: () => round('limit', limit) });
  const note = `each operation is a delivery; the process that reads the deliveries was busy for ${(median(busy) * 100).toFixed(0)} % of the time`;
  return { figures, cpuMs: { ours: sumAfterFirst(cpuMs.ours), limit: sumAfterFirst(cpuMs.limit) }, note };
}

/** Returns the sum of all values except the first, because the first round does not count. */
function sumAfterFirst(values: readonly number[]): number {
  return values.slice(1).reduce((sum, value) => sum + value, 0);
}
