import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CaseContext } from '../case.ts';
import { Child } from '../child.ts';
import { figuresOf, median } from '../figures.ts';
import type { Figures } from '../figures.ts';
import { newPerson, personsPath, threeIndexes } from '../person.ts';
import { p99AtMost } from '../result-table.ts';
import type { Row, Target } from '../result-table.ts';
import { alternate } from '../rounds.ts';
import type { Settings } from '../settings.ts';
import { Watchers, watchFromNow } from '../watchers.ts';

interface Writing {
  readonly url: string;
  readonly perSecond: number;
  readonly count: number;
  readonly nextNumber: () => number;
}

/** A selector that selects every person, and is compared with each. */
const selective = '&labelSelector=team!%3Dnone&fieldSelector=spec.name!%3Dnobody';

/** How long after a write is sent does each of many watchers have it? */
export async function watchFanOut({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  const { watchers: count, watchedWritesPerSecond: perSecond } = settings;
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
  const name = `watch-fan-out, ${perSecond.toString()}/s to ${count.toLocaleString('en-US')}`;
  let number = 0;
  const turns = { settings, nextNumber: () => (number += 1) };
  const beside = await deliverByTurns(turns, all, least);
  const equal = await deliverByTurns(turns, selected, all);
  const ratio = equal.cpuMs.ours / equal.cpuMs.limit;
  const shared: Target = { text: 'processor time <= 1.1 x', isMet: ratio <= 1.1 };
  return [
    { name, ...beside.figures, target: p99AtMost(50, beside.figures.ours), note: beside.note },
    {
      name: `${name}, equal selectors beside none`,
      ...equal.figures,
      target: shared,
      note: `the server with selectors takes ${ratio.toFixed(2)} times the processor time of the one without`,
    },
  ];
}

interface Watched {
  readonly child: Child;
  readonly watchers: Watchers;
  readonly url: string;
}

interface Delivered {
  readonly figures: { readonly ours: Figures; readonly limit: Figures };
  /** Processor time of the servers, in all rounds. */
  readonly cpuMs: { readonly ours: number; readonly limit: number };
  readonly note: string;
}

interface Turns {
  readonly settings: Settings;
  readonly nextNumber: () => number;
}

async function deliverByTurns({ settings, nextNumber }: Turns, ours: Watched, limit: Watched): Promise<Delivered> {
  const { watchedWritesPerSecond: perSecond, seconds, rounds } = settings;
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
  const note = `ops are deliveries; reading them kept the watching process ${(median(busy) * 100).toFixed(0)} % busy`;
  return { figures, cpuMs, note };
}

/** Sends writes at a steady rate, whether or not the earlier ones have responses, and waits until every watcher has all. */
async function deliver(watchers: Watchers, writing: Writing): Promise<Figures> {
  const startMs = performance.now();
  const [arrivalsMs, sentMs] = await Promise.all([watchers.collect(writing.count), writeAll(writing)]);
  const latencies = arrivalsMs.flatMap((arrivals) =>
    arrivals.map((atMs, frame) => atMs - (sentMs[frame] ?? Number.NaN)),
  );
  return figuresOf(Float64Array.from(latencies), performance.now() - startMs);
}

/** The time at which each write was sent, in the order of revisions, in which watchers receive them. */
async function writeAll({ url, perSecond, count, nextNumber }: Writing): Promise<readonly number[]> {
  const startMs = performance.now();
  const writes: Promise<{ readonly sentMs: number; readonly revision: number }>[] = [];
  for (let position = 0; position < count; position += 1) {
    const dueMs = startMs + (position * 1000) / perSecond;
    if (performance.now() < dueMs) await sleep(dueMs - performance.now());
    const written = write(url, nextNumber());
    // An earlier failure shows here as well, where all are awaited.
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
