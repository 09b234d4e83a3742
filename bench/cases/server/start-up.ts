import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import { median } from '../../measure/figures.ts';
import type { Figures } from '../../measure/figures.ts';
import { fiveIndexes } from '../../load/person.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';

const mostMs = 2_000;
const mostBytesEach = 2.5 * 1024;

/**
 * Measures the time from the registration of a kind with five indexes until its objects of 1 KB are served, and the
 * memory that the objects take in addition to their bytes.
 */
export async function startUp({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  const { rounds, objects } = settings;
  const file = join(folder, 'start-up.db');
  const bytesEach = await prepare(file, objects);
  await copyFile(file, `${file}.copy`);
  await using bare = new Child('bare-sqlite');
  const restored = new Starts(file, objects);
  const kept = new Starts(file, objects);
  const computed = new Starts(file, objects);
  // The stop after each start writes a snapshot. Before a start without a snapshot, this snapshot is deleted.
  const measureKept = async (): Promise<Figures> => {
    await rm(`${file}-snapshots`, { recursive: true });
    return kept.measure();
  };
  const { ours, limit } = await alternate(rounds, {
    ours: () => restored.measure(),
    limit: () => bare.call<Figures>('scan', `${file}.copy`),
  });
  const withoutSnapshot = await alternate(rounds, { ours: measureKept, limit: () => restored.measure() });
  const withoutKept = await alternate(rounds, {
    ours: async () => {
      await bare.call('forget', file);
      await rm(`${file}-snapshots`, { recursive: true });
      return computed.measure();
    },
    limit: measureKept,
  });
  const beyond = restored.heldBytesEach - bytesEach;
  const count = objects.toLocaleString('en-US');
  const kilobytes = (bytes: number): string => `${(bytes / 1024).toFixed(2)} KB`;
  return [
    {
      name: `start-up, ${count} objects`,
      ours,
      limit,
      target: { text: `<= ${mostMs.toString()} ms`, isMet: ours.p50Ms <= mostMs },
      note: `p50 is the time from the call of register until the objects are served, without the ${restored.openMs.toFixed(0)} ms to open the database; the start with a snapshot takes ${restored.cost}`,
    },
    {
      name: `start-up, ${count} objects, without a snapshot`,
      ours: withoutSnapshot.ours,
      limit: withoutSnapshot.limit,
      note: `the limit is a start with a snapshot; the start without one takes ${kept.cost}`,
    },
    {
      name: `start-up, ${count} objects, nothing kept`,
      ours: withoutKept.ours,
      limit: withoutKept.limit,
      note: `the limit is a start with kept records; the start without them takes ${computed.cost}`,
    },
    {
      name: 'start-up, memory that a server needs for each object after its start, without the bytes of the object',
      target: { text: `<= ${kilobytes(mostBytesEach)}: ${kilobytes(beyond)}`, isMet: beyond <= mostBytesEach },
      note: `growth of heapUsed + external by the start, measured after gc and divided by the number of objects, minus the ${kilobytes(bytesEach)} of an object's bytes`,
    },
  ];
}

/** Fills the database. Returns the size of one object in a response, in bytes. */
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
  /** The main thread's processor time from the call of `register` until the objects are served. */
  readonly mainMs: number;
  /** The processor time of all threads from the call of `register` until the objects are served. */
  readonly allMs: number;
}

/** Several starts with one database, and the medians of their figures. */
class Starts {
  readonly #file: string;
  readonly #objects: number;
  readonly #starts: Start[] = [];

  constructor(file: string, objects: number) {
    this.#file = file;
    this.#objects = objects;
  }

  async measure(): Promise<Figures> {
    const started = await measureStart(this.#file);
    this.#starts.push(started);
    return { opsPerSecond: (this.#objects / started.readyMs) * 1000, p50Ms: started.readyMs };
  }

  get openMs(): number {
    return this.#median(({ openMs }) => openMs);
  }

  get heldBytesEach(): number {
    return this.#median(({ heldBytes }) => heldBytes / this.#objects);
  }

  /** Returns a text with the processor time of the start, divided by the number of objects. */
  get cost(): string {
    const each = (ms: number): string => ((ms / this.#objects) * 1000).toFixed(1);
    const [main, all] = [this.#median(({ mainMs }) => mainMs), this.#median(({ allMs }) => allMs)];
    return `${each(main)} us of processor time of the main thread for an object, ${each(all)} of all threads`;
  }

  #median(figure: (start: Start) => number): number {
    return median(this.#starts.map(figure));
  }
}

async function measureStart(file: string): Promise<Start> {
  await using server = new Child('api-server', ['--expose-gc']);
  const before = await server.call<number>('heldBytes');
  const startMs = performance.now();
  await server.call('start', `sqlite:${file}`);
  const openMs = performance.now() - startMs;
  const [mainBefore, allBefore] = [server.mainCpuMs(), server.cpuMs()];
  const readyMs = await server.call<number>('register', fiveIndexes);
  const [mainMs, allMs] = [server.mainCpuMs() - mainBefore, server.cpuMs() - allBefore];
  const heldBytes = (await server.call<number>('heldBytes')) - before;
  await server.call('stop');
  return { openMs, readyMs, heldBytes, mainMs, allMs };
}
