// Our side of the comparison: one controller whose runs do nothing, or only a rare write. Its server is in this
// process, or in another process at a URL.
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { startApiServer } from '@homeostat/apiserver';
import { controller, createClient, createManager } from '@homeostat/controller-runtime';
import type { Client, ReconcileResult } from '@homeostat/controller-runtime';
import { answerCalls } from '../processes/answer-calls.ts';
import { figuresOf } from '../measure/figures.ts';
import type { Figures } from '../measure/figures.ts';
import { runInFlight } from '../measure/in-flight.ts';
import { newPerson, personModel, threeIndexes } from '../load/person.ts';
import type { Person } from '../load/person.ts';

const model = personModel(threeIndexes);

let client: Client;
let created = 0;

interface Running {
  /** Stops the controller. Settles when all its parts have stopped. */
  stop(): Promise<void>;
  /** Returns true when the controller has started and no key is ready or being processed. */
  isIdle(): boolean;
}

function start(reconcile: (name: string) => ReconcileResult | Promise<ReconcileResult>): Running {
  const aborting = new AbortController();
  const hotLoopRunsPerMinute = Number.MAX_SAFE_INTEGER;
  const manager = createManager({
    client,
    controllers: [controller(model, { hotLoopRunsPerMinute, reconcile: ({ name }) => reconcile(name) })],
  });
  const stopped = manager.run(aborting.signal);
  return {
    isIdle: () => manager.isIdle(),
    stop: async () => {
      aborting.abort();
      await stopped;
    },
  };
}

async function fill(count: number): Promise<void> {
  await runInFlight({ count, width: 256, operation: () => createNext() });
}

function createNext(): Promise<Person> {
  const number = created++;
  return client.create(model, newPerson({ name: `p-${number.toString()}`, number }));
}

/** Measures `count` runs for the existing objects. Each run requests the next run of its key. */
async function run(count: number): Promise<Figures> {
  let runs = 0;
  let startMs = 0;
  let onEnd = (): void => undefined;
  const ended = new Promise<void>((resolve) => (onEnd = resolve));
  const running = start(() => {
    if (runs === 0) startMs = performance.now();
    runs += 1;
    if (runs < count) return { after: 0 };
    if (runs === count) onEnd();
    return undefined;
  });
  await ended;
  const elapsedMs = performance.now() - startMs;
  await running.stop();
  return { opsPerSecond: (count / elapsedMs) * 1000, p50Ms: elapsedMs / count };
}

interface Recording {
  readonly seconds: number;
  /** True when runs are recorded, as under `homeostat serve`. */
  readonly isReported: boolean;
  /**
   * True when each object is reconciled once per second. If it is false, each run immediately requests the next run of
   * its object.
   */
  readonly isPaced: boolean;
}

/**
 * The time before the measurement begins. In this time the recorder of runs spends the budget that it saved while there
 * were no runs, so it records more runs than later.
 */
const warmMs = 3000;

/** One run in ten writes its object. */
const runsPerWrite = 10;

/**
 * Measures runs, of which one in ten writes. The figures are the runs per second, and the processor time of all threads
 * for each run.
 */
async function runRecorded({ seconds, isReported, isPaced }: Recording): Promise<Figures> {
  let runs = 0;
  let isEnding = false;
  const aborting = new AbortController();
  const definition = controller(model, {
    hotLoopRunsPerMinute: Number.MAX_SAFE_INTEGER,
    async reconcile({ name, client: own }) {
      runs += 1;
      if (isEnding) return undefined;
      const patch = { metadata: { annotations: { run: runs.toString() } } };
      if (runs % runsPerWrite === 0) await own.patch(model, name, { type: 'merge', patch });
      return { after: isPaced ? '1s' : 0 };
    },
  });
  const report = isReported ? { report: { name: 'bench' } } : {};
  const running = createManager({ client, controllers: [definition], ...report }).run(aborting.signal);
  await sleep(warmMs);
  const [firstRun, firstCpu, startMs] = [runs, process.cpuUsage(), performance.now()];
  await sleep(seconds * 1000);
  const { user, system } = process.cpuUsage(firstCpu);
  const elapsedMs = performance.now() - startMs;
  const count = runs - firstRun;
  isEnding = true;
  aborting.abort();
  await running;
  return { opsPerSecond: (count / elapsedMs) * 1000, p50Ms: (user + system) / 1000 / count };
}

/** Measures calls of a reconcile function that does nothing, without a controller, for the objects in the cache. */
async function callOnly(count: number): Promise<Figures> {
  const informer = client.informer(model);
  const aborting = new AbortController();
  const following = informer.run(aborting.signal);
  while (!informer.hasSynced()) await nextTurn();
  const keys = informer.list().map(({ metadata }) => ({ name: metadata.name }));
  const reconcile = async (object: Person | undefined): Promise<unknown> => object;
  const startMs = performance.now();
  for (let calls = 0; calls < count; calls += 1) {
    await reconcile(informer.get(keys[calls % keys.length] as { readonly name: string }));
  }
  const elapsedMs = performance.now() - startMs;
  aborting.abort();
  await following;
  return { opsPerSecond: (count / elapsedMs) * 1000, p50Ms: elapsedMs / count };
}

interface Writing {
  readonly count: number;
  readonly perSecond: number;
}

interface WrittenFigures {
  /** The time from the sending of a write to the start of the run that the write causes. */
  readonly started: Figures;
  /** The time from the sending of a write to its response. */
  readonly answered: Figures;
  /**
   * The time from the response to a write to the start of the run that the write causes; 0 if the run started before
   * the response.
   */
  readonly beyond: Figures;
}

/** Sends one write after the other at a fixed rate, but none before the run for the previous write has started. */
async function writeAndWait({ count, perSecond }: Writing): Promise<WrittenFigures> {
  const started = new Float64Array(count);
  const answered = new Float64Array(count);
  let onRun = (_name: string): void => undefined;
  const running = start((name) => onRun(name));
  while (!running.isIdle()) await nextTurn();
  const beginMs = performance.now();
  for (const position of started.keys()) {
    await sleep(beginMs + ((position + 1) * 1000) / perSecond - performance.now());
    const name = `p-${created.toString()}`;
    const ran = new Promise<number>((resolve) => {
      onRun = (other) => {
        if (other === name) resolve(performance.now());
      };
    });
    const sentMs = performance.now();
    await createNext();
    answered[position] = performance.now() - sentMs;
    started[position] = (await ran) - sentMs;
  }
  const elapsedMs = performance.now() - beginMs;
  await running.stop();
  return writtenFigures({ started, answered, elapsedMs });
}

/**
 * Sends one write after the other while the initial objects are still being reconciled. Each write waits for the run of
 * the previous write. A run takes one turn of the event loop.
 */
async function writeDuringStart(count: number): Promise<WrittenFigures & { readonly left: number }> {
  const started = new Float64Array(count);
  const answered = new Float64Array(count);
  const waiting = new Map<string, (ranMs: number) => void>();
  const present = created;
  let runs = 0;
  let onFirst = (): void => undefined;
  const first = new Promise<void>((resolve) => (onFirst = resolve));
  const running = start(async (name) => {
    runs += 1;
    onFirst();
    waiting.get(name)?.(performance.now());
    await nextTurn();
  });
  await first;
  const beginMs = performance.now();
  for (const position of started.keys()) {
    const name = `p-${created.toString()}`;
    const ran = new Promise<number>((resolve) => waiting.set(name, resolve));
    const sentMs = performance.now();
    await createNext();
    answered[position] = performance.now() - sentMs;
    started[position] = (await ran) - sentMs;
  }
  const elapsedMs = performance.now() - beginMs;
  const left = present + count - runs;
  await running.stop();
  return { ...writtenFigures({ started, answered, elapsedMs }), left };
}

interface Written {
  readonly started: Float64Array;
  readonly answered: Float64Array;
  readonly elapsedMs: number;
}

function writtenFigures({ started, answered, elapsedMs }: Written): WrittenFigures {
  const beyond = started.map((startedMs, position) => Math.max(0, startedMs - (answered[position] ?? Number.NaN)));
  return {
    started: figuresOf(started, elapsedMs),
    answered: figuresOf(answered, elapsedMs),
    beyond: figuresOf(beyond, elapsedMs),
  };
}

answerCalls({
  serve: async (database: string) => {
    const server = await startApiServer({ database, port: 0 });
    server.schemeManager.register(model);
    await server.whenReady(model);
    client = server.client;
  },
  connect: (url: string) => {
    client = createClient(url);
  },
  fill,
  run,
  runRecorded,
  callOnly,
  writeAndWait,
  writeDuringStart,
});
