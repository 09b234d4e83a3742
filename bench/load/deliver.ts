import { setTimeout as sleep } from 'node:timers/promises';
import { figuresOf } from '../measure/figures.ts';
import type { Figures } from '../measure/figures.ts';
import { newPerson, personsPath } from './person.ts';
import type { Watchers } from './watchers.ts';

/** The writes of a round, which are sent at a fixed rate. */
export interface Writing {
  /** The URL of the server. */
  readonly url: string;
  readonly perSecond: number;
  readonly count: number;
  /** The number in the name of the first person. A later round on the same server must use other numbers. */
  readonly firstNumber: number;
}

/** The results of a round in which another process had the watchers and sent the writes. */
export interface ReadRound {
  readonly figures: Figures;
  /** The share of the time in which the process with the watchers was busy. */
  readonly busy: number;
}

/**
 * Sends writes at a fixed rate, without waiting for the responses to earlier writes. Resolves when every watcher has
 * received all writes.
 */
export async function deliver(watchers: Watchers, writing: Writing): Promise<Figures> {
  const startMs = performance.now();
  const [arrivalsMs, sentMs] = await Promise.all([watchers.collect(writing.count), writeAll(writing)]);
  const latencies = arrivalsMs.flatMap((arrivals) =>
    arrivals.map((atMs, frame) => atMs - (sentMs[frame] ?? Number.NaN)),
  );
  return figuresOf(Float64Array.from(latencies), performance.now() - startMs);
}

/**
 * Sends the writes. Resolves with the time at which each write was sent, in the order of the revisions, because
 * watchers receive the changes in this order.
 */
async function writeAll({ url, perSecond, count, firstNumber }: Writing): Promise<readonly number[]> {
  const startMs = performance.now();
  const writes: Promise<{ readonly sentMs: number; readonly revision: number }>[] = [];
  for (let position = 0; position < count; position += 1) {
    const dueMs = startMs + (position * 1000) / perSecond;
    if (performance.now() < dueMs) await sleep(dueMs - performance.now());
    const written = write(url, firstNumber + position);
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
