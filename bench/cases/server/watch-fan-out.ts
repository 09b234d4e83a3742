import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import { figuresOf, median, medianFigures } from '../../measure/figures.ts';
import type { Figures } from '../../measure/figures.ts';
import { newPerson, personsPath, threeIndexes } from '../../load/person.ts';
import { p99AtMost } from '../../measure/result-table.ts';
import type { Row, Target } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';
import type { Settings } from '../../measure/settings.ts';
import { Watchers, watchFromNow } from '../../load/watchers.ts';

interface Writing {
  readonly url: string;
  readonly perSecond: number;
  readonly count: number;
  readonly nextNumber: () => number;
}

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
  await using selecting = new Child('api-server');
  await using bare = new Child('frame-server');
  const url = await server.call<string>('start', `sqlite:${join(folder, 'watch.db')}`);
  const selectingUrl = await selecting.call<string>('start', `sqlite:${join(folder, 'watch-selected.db')}`);
  const bareUrl = await bare.call<string>('start');
  for (const child of [server, selecting]) await child.call('register', threeIndexes);
  using ourWatchers = await Watchers.connect(url + personsPath + watchFromNow, count);
  using selectors = await Watchers.connect(selectingUrl + personsPath + watchFromNow + selective, count);
  using bareWatchers = await Watchers.connect(bareUrl, count);
  const all = { child: server, watchers: ourWatchers, url };
  const selected = { child: selecting, watchers: selectors, url: selectingUrl };
  const least = { child: bare, watchers: bareWatchers, url: bareUrl };
  const turns = { settings, perSecond, nextNumber: counter() };
  const beside = await deliverByTurns(turns, all, least);
  const equal = await deliverByTurns(turns, selected, all);
  const ratio = equal.cpuMs.ours / equal.cpuMs.limit;
  const shared: Target = { text: 'processor time <= 1.1 x', isMet: ratio <= 1.1 };
  return [
    { name: nameOf(fanOut), ...beside.figures, target: p99AtMost(mostP99Ms, beside.figures.ours), note: beside.note },
    {
      name: `${nameOf(fanOut)}, equal selectors beside none`,
      ...equal.figures,
      target: shared,
      note: `the server with selectors takes ${ratio.toFixed(2)} times the processor time of the one without`,
    },
  ];
}

/**
 * Measures deliveries to as many watchers as a server allows. There is no second server as a limit, because the process
 * that reads does not have enough file descriptors for the watchers of two servers.
 */
async function toMany(fanOut: FanOut, settings: Settings, folder: string): Promise<readonly Row[]> {
  const { count, perSecond, mostP99Ms } = fanOut;
  await using child = new Child('api-server');
  const options = { database: `sqlite:${join(folder, 'watch-many.db')}`, maxWatchesPerAddress: count };
  const url = await child.call<string>('startWith', options);
  await child.call('register', threeIndexes);
  using watchers = await Watchers.connect(url + personsPath + watchFromNow, count);
  const nextNumber = counter();
  const writes = Math.ceil(perSecond * settings.seconds);
  const rounds: Figures[] = [];
  const costsUs: number[] = [];
  const busy: number[] = [];
  for (let round = 0; round <= settings.rounds; round += 1) {
    const before = performance.eventLoopUtilization();
    const beforeMs = child.mainCpuMs();
    rounds.push(await deliver(watchers, { url, perSecond, count: writes, nextNumber }));
    costsUs.push(((child.mainCpuMs() - beforeMs) * 1000) / (writes * count));
    busy.push(performance.eventLoopUtilization(before).utilization);
  }
  const ours = medianFigures(rounds.slice(1));
  const note = `${median(costsUs.slice(1)).toFixed(2)} us of the main thread for each delivery; the process that reads the deliveries was busy for ${(median(busy.slice(1)) * 100).toFixed(0)} % of the time`;
  return [{ name: nameOf(fanOut), ours, target: p99AtMost(mostP99Ms, ours), note }];
}

function counter(): () => number {
  let number = 0;
  return () => (number += 1);
}

interface Watched {
  readonly child: Child;
  readonly watchers: Watchers;
  readonly url: string;
}

interface Delivered {
  readonly figures: { readonly ours: Figures; readonly limit: Figures };
  /** The processor time of the two servers, in all rounds together. */
  readonly cpuMs: { readonly ours: number; readonly limit: number };
  readonly note: string;
}

interface Turns {
  readonly settings: Settings;
  readonly perSecond: number;
  readonly nextNumber: () => number;
}

async function deliverByTurns(
  { settings, perSecond, nextNumber }: Turns,
  ours: Watched,
  limit: Watched,
): Promise<Delivered> {
  const { seconds, rounds } = settings;
  const busy: number[] = [];
  const cpuMs = { ours: 0, limit: 0 };
  const round = async (which: 'ours' | 'limit', { child, watchers, url }: Watched): Promise<Figures> => {
    const before = performance.eventLoopUtilization();
    const beforeMs = child.cpuMs();
    const figures = await deliver(watchers, { url, perSecond, count: Math.ceil(perSecond * seconds), nextNumber });
    cpuMs[which] += child.cpuMs() - beforeMs;
    busy.push(performance.eventLoopUtilization(before).utilization);
    return figures;
  };
  const figures = await alternate(rounds, { ours: () => round('ours', ours), limit: () => round('limit', limit) });
  const note = `each operation is a delivery; the process that reads the deliveries was busy for ${(median(busy) * 100).toFixed(0)} % of the time`;
  return { figures, cpuMs, note };
}

/**
 * Sends writes at a fixed rate, without waiting for the responses to earlier ones, until every watcher has received all
 * of them.
 */
async function deliver(watchers: Watchers, writing: Writing): Promise<Figures> {
  const startMs = performance.now();
  const [arrivalsMs, sentMs] = await Promise.all([watchers.collect(writing.count), writeAll(writing)]);
  const latencies = arrivalsMs.flatMap((arrivals) =>
    arrivals.map((atMs, frame) => atMs - (sentMs[frame] ?? Number.NaN)),
  );
  return figuresOf(Float64Array.from(latencies), performance.now() - startMs);
}

/**
 * Returns the time at which each write was sent. The times are in the order of the revisions, in which watchers receive
 * the changes.
 */
async function writeAll({ url, perSecond, count, nextNumber }: Writing): Promise<readonly number[]> {
  const startMs = performance.now();
  const writes: Promise<{ readonly sentMs: number; readonly revision: number }>[] = [];
  for (let position = 0; position < count; position += 1) {
    const dueMs = startMs + (position * 1000) / perSecond;
    if (performance.now() < dueMs) await sleep(dueMs - performance.now());
    const written = write(url, nextNumber());
    // A failure is reported below, where all writes are awaited. Until then, it must not count as an unhandled
    // rejection.
    written.catch(() => undefined);
    writes.push(written);
  }
  const written = await Promise.all(writes);
  return written.sort((a, b) => a.revision - b.revision).map(({ sentMs }) => sentMs);
}

async function write(url: string, number: number): Promise<{ sentMs: number; revision: number }> {
  const body = JSON.stringify(newPerson({ name: `p-${number.toString()}`, number }));
  const sentMs = performance.now();
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(url + personsPath, { method: 'POST', headers, body });
  if (response.status !== 201) throw new Error(await response.text());
  const { metadata } = (await response.json()) as { metadata: { resourceVersion: string } };
  return { sentMs, revision: Number(metadata.resourceVersion) };
}
