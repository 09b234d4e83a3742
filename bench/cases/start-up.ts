import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CaseContext } from '../case.ts';
import { Child } from '../child.ts';
import { median } from '../figures.ts';
import type { Figures } from '../figures.ts';
import { fiveIndexes } from '../person.ts';
import type { Row } from '../result-table.ts';
import { alternate } from '../rounds.ts';

const mostMs = 2_000;
const mostBytesEach = 2.5 * 1024;

/**
 * How long do objects of 1 KB with five indexes take until they are served, and how much memory do they take beyond
 * their bytes?
 */
export async function startUp({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  const { rounds, objects } = settings;
  const file = join(folder, 'start-up.db');
  const bytesEach = await prepare(file, objects);
  await copyFile(file, `${file}.copy`);
  await using bare = new Child('bare-sqlite');
  const beyondEach: number[] = [];
  const openMs: number[] = [];
  const { ours, limit } = await alternate(rounds, {
    ours: async () => {
      const started = await measureStart(file);
      beyondEach.push(started.heldBytes / objects - bytesEach);
      openMs.push(started.openMs);
      return { opsPerSecond: (objects / started.readyMs) * 1000, p50Ms: started.readyMs };
    },
    limit: () => bare.call<Figures>('scan', `${file}.copy`),
  });
  const beyond = median(beyondEach);
  const kilobytes = (bytes: number): string => `${(bytes / 1024).toFixed(2)} KB`;
  return [
    {
      name: `start-up, ${objects.toLocaleString('en-US')} objects`,
      ours,
      limit,
      target: { text: `<= ${mostMs.toString()} ms`, isMet: ours.p50Ms <= mostMs },
      note: `p50 is the time from register to ready; opening the database before it took ${median(openMs).toFixed(0)} ms`,
    },
    {
      name: 'start-up, memory of an object',
      target: { text: `<= ${kilobytes(mostBytesEach)}: ${kilobytes(beyond)}`, isMet: beyond <= mostBytesEach },
      note: `beyond its ${kilobytes(bytesEach)} of bytes: growth of heapUsed + external from before the database is opened, after gc`,
    },
  ];
}

/** Makes the database; returns the size of a stored object in bytes. */
async function prepare(file: string, count: number): Promise<number> {
  await using server = new Child('api-server');
  const url = await server.call<string>('start', `sqlite:${file}`);
  await server.call('register', []);
  await server.call('fill', { count });
  const sample = await fetch(`${url}/apis/people.example.com/v1alpha1/persons/p-${(count >> 1).toString()}`);
  const bytes = (await sample.arrayBuffer()).byteLength;
  await server.call('stop');
  return bytes;
}

interface Start {
  readonly openMs: number;
  readonly readyMs: number;
  readonly heldBytes: number;
}

async function measureStart(file: string): Promise<Start> {
  await using server = new Child('api-server', ['--expose-gc']);
  const before = await server.call<number>('heldBytes');
  const startMs = performance.now();
  await server.call('start', `sqlite:${file}`);
  const openMs = performance.now() - startMs;
  const readyMs = await server.call<number>('register', fiveIndexes);
  const heldBytes = (await server.call<number>('heldBytes')) - before;
  await server.call('stop');
  return { openMs, readyMs, heldBytes };
}
