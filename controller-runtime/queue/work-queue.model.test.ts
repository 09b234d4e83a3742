import { expect } from 'chai';
import fc from 'fast-check';
import { FakeClock } from '../testing/fakes/fake-clock.ts';
import { maxReasons, type Reason, type ReasonType } from './reason.ts';
import { WorkQueue } from './work-queue.ts';

const keys = ['a', 'b', 'c', 'd'];
const retryLimit = 3;

/**
 * A key in the simple model of the queue. The model has plain lists with linear search, and no heap, links or timers.
 */
interface ModelKey {
  state: 'idle' | 'ready' | 'delayed' | 'processing' | 'parked';
  next: 'nothing' | 'ready' | 'delayed' | 'parked';
  priority: number | undefined;
  runPriority: number;
  attempts: number;
  failures: number;
  dueMs: number;
  readySince: number;
  delayedSince: number;
  changed: boolean;
  reasons: string[];
}

function changes(type: ReasonType): boolean {
  return ['event', 'owner', 'mapping', 'manual'].includes(type);
}

/** Resets the failures of a key that has no retries left. */
function startOver(entry: ModelKey): void {
  if (entry.failures > retryLimit) Object.assign(entry, { attempts: 0, failures: 0 });
}

/** A slow queue with the simplest implementation of the rules. */
class PlainQueue {
  nowMs = 0;
  isShutDown = false;
  waitingDrains = 0;
  readonly #keys = new Map<string, ModelKey>();
  #ticks = 0;

  of(key: string): ModelKey {
    const fresh: ModelKey = {
      state: 'idle',
      next: 'nothing',
      priority: undefined,
      runPriority: 0,
      attempts: 0,
      failures: 0,
      dueMs: 0,
      readySince: 0,
      delayedSince: 0,
      changed: false,
      reasons: [],
    };
    const found = this.#keys.get(key) ?? fresh;
    this.#keys.set(key, found);
    return found;
  }

  add(key: string, delayMs: number, { priority, type }: { priority: number | undefined; type: ReasonType }): void {
    const entry = this.of(key);
    const parked = entry.state === 'parked' || (entry.state === 'processing' && entry.next === 'parked');
    if (this.isShutDown || (parked && !changes(type))) return;
    if (entry.reasons.length < maxReasons && !entry.reasons.includes(type)) entry.reasons.push(type);
    entry.changed ||= changes(type);
    const wanted = priority ?? (delayMs > 0 && entry.state === 'processing' ? entry.runPriority : 0);
    if (entry.priority === undefined || wanted > entry.priority) {
      entry.priority = wanted;
      entry.readySince = ++this.#ticks;
    }
    if (parked) {
      startOver(entry);
      if (entry.state === 'parked') entry.state = 'idle';
      else entry.next = 'nothing';
    }
    if (delayMs > 0) this.#delay(entry, this.nowMs + delayMs);
    else this.#ready(entry);
  }

  fail(key: string, counts: boolean): 'delayed' | 'parked' {
    const entry = this.of(key);
    entry.attempts += 1;
    if (counts) entry.failures += 1;
    if (counts && entry.failures > retryLimit) {
      this.park(key);
      return entry.state === 'parked' || entry.next === 'parked' ? 'parked' : 'delayed';
    }
    const priority = entry.state === 'processing' ? entry.runPriority : 0;
    this.add(key, 5 * 2 ** (entry.attempts - 1), { priority, type: 'retry' });
    return 'delayed';
  }

  park(key: string): void {
    const entry = this.of(key);
    if (entry.state !== 'processing') entry.state = 'parked';
    else if (entry.next !== 'ready' || !entry.changed) entry.next = 'parked';
    else startOver(entry);
  }

  get(): string | undefined {
    if (this.isShutDown) return undefined;
    const ready = [...this.#keys].filter(([, entry]) => entry.state === 'ready');
    ready.sort(([, a], [, b]) => (b.priority ?? 0) - (a.priority ?? 0) || a.readySince - b.readySince);
    const [first] = ready;
    if (first === undefined) return undefined;
    const [key, entry] = first;
    Object.assign(entry, { state: 'processing', next: 'nothing', changed: false, reasons: [] });
    entry.runPriority = entry.priority ?? 0;
    entry.priority = undefined;
    return key;
  }

  done(key: string): void {
    const entry = this.of(key);
    const { next } = entry;
    entry.state = 'idle';
    if (next === 'ready' || (next === 'delayed' && entry.dueMs <= this.nowMs)) this.#ready(entry);
    else if (next === 'delayed') this.#delay(entry, entry.dueMs);
    else if (next === 'parked') entry.state = 'parked';
    if (this.keysIn('processing').length === 0) this.waitingDrains = 0;
  }

  advance(ms: number): void {
    this.nowMs += ms;
    if (this.isShutDown) return;
    const due = [...this.#keys.values()].filter((entry) => entry.state === 'delayed' && entry.dueMs <= this.nowMs);
    due.sort((a, b) => a.dueMs - b.dueMs || a.delayedSince - b.delayedSince);
    for (const entry of due) this.#ready(entry);
  }

  keysIn(state: ModelKey['state']): string[] {
    return [...this.#keys].filter(([, entry]) => entry.state === state).map(([key]) => key);
  }

  #ready(entry: ModelKey): void {
    if (entry.state === 'processing') entry.next = 'ready';
    else if (entry.state !== 'ready') {
      entry.state = 'ready';
      entry.readySince = ++this.#ticks;
    }
  }

  #delay(entry: ModelKey, dueMs: number): void {
    const place = entry.state === 'processing' ? entry.next : entry.state;
    if (place === 'ready' || (place === 'delayed' && entry.dueMs <= dueMs)) return;
    entry.dueMs = dueMs;
    if (entry.state === 'processing') entry.next = 'delayed';
    else {
      if (entry.state !== 'delayed') entry.delayedSince = ++this.#ticks;
      entry.state = 'delayed';
    }
  }
}

interface Real {
  readonly queue: WorkQueue;
  readonly clock: FakeClock;
  /** The number of drains that have not resolved. */
  waitingDrains: number;
}

type Step = fc.AsyncCommand<PlainQueue, Real>;

/**
 * Makes a step that runs one operation on the model and on the queue, and then checks that both are in the same state.
 */
function step(
  name: string,
  run: (model: PlainQueue, real: Real) => void | Promise<void>,
  check: Step['check'] = () => true,
): Step {
  return {
    check,
    toString: () => name,
    async run(model, real) {
      await run(model, real);
      // A drain resolves asynchronously, so the step waits for a turn of the event loop.
      if (real.waitingDrains > 0) await new Promise((resolve) => setImmediate(resolve));
      expectSame(model, real);
    },
  };
}

/**
 * Checks that the queue has the state of the model. The states are compared as text, with a line for each key, because
 * deep equality made this test ten times slower.
 */
function expectSame(model: PlainQueue, { queue, clock, waitingDrains }: Real): void {
  expect(waitingDrains).to.equal(model.waitingDrains);
  const actual = queue.snapshot().map((entry) => {
    const { key, state, attempts, priority, nextTime, reasons } = entry;
    const dueInMs = nextTime === undefined ? '' : nextTime - clock.now();
    return `${key} ${state} ${attempts} ${priority} ${dueInMs} ${state === 'processing' ? '' : reasons.map(({ type }) => type).join()}`;
  });
  const expected = keys.filter((key) => model.of(key).state !== 'idle').map((key) => describeKey(key, model));
  expect(actual.sort().join('\n')).to.equal(expected.join('\n'));
  expect(queue.length).to.equal(model.keysIn('ready').length);
  expect(queue.processing).to.equal(model.keysIn('processing').length);
}

function describeKey(key: string, model: PlainQueue): string {
  const { state, next, attempts, runPriority, priority, dueMs, reasons } = model.of(key);
  const isDelayed = state === 'delayed' || (state === 'processing' && next === 'delayed');
  const shownPriority = state === 'processing' ? runPriority : (priority ?? 0);
  const dueInMs = isDelayed ? dueMs - model.nowMs : '';
  return `${key} ${state} ${attempts} ${shownPriority} ${dueInMs} ${state === 'processing' ? '' : reasons.join()}`;
}

const aKey = fc.constantFrom(...keys);
const aPriority = fc.constantFrom(undefined, -100, 0, 5);
const aDelay = fc.constantFrom(-1, 0, 1, 3, 5, 10, 40, 1000);
const aReason: fc.Arbitrary<Reason> = fc
  .constantFrom<ReasonType[]>('event', 'owner', 'mapping', 'resync', 'timer', 'manual')
  .map((type) => ({ type }));

const steps = [
  fc.tuple(aKey, aPriority, aReason).map(([key, priority, reason]) =>
    step(`add ${key} ${priority} ${reason.type}`, (model, { queue }) => {
      model.add(key, 0, { priority: priority ?? 0, type: reason.type });
      queue.add(key, { reason, ...(priority === undefined ? {} : { priority }) });
    }),
  ),
  fc.tuple(aKey, aDelay, aPriority, aReason).map(([key, delayMs, priority, reason]) =>
    step(`addAfter ${key} ${delayMs} ${priority} ${reason.type}`, (model, { queue }) => {
      const { state, runPriority } = model.of(key);
      model.add(key, delayMs, { priority: priority ?? (state === 'processing' ? runPriority : 0), type: reason.type });
      queue.addAfter(key, delayMs, { reason, ...(priority === undefined ? {} : { priority }) });
    }),
  ),
  fc.constant(
    step('get', (model, { queue }) => {
      expect(queue.get()?.key).to.equal(model.get());
    }),
  ),
  aKey.map((key) =>
    step(
      `done ${key}`,
      (model, { queue }) => {
        model.done(key);
        queue.done(key);
      },
      (model) => model.of(key).state === 'processing',
    ),
  ),
  aKey.map((key) =>
    step(`fail ${key}`, (model, { queue }) => {
      expect(queue.addRateLimited(key)).to.equal(model.fail(key, true));
    }),
  ),
  aKey.map((key) =>
    step(`back off ${key}`, (model, { queue }) => {
      expect(queue.addRateLimited(key, { unlimited: true })).to.equal(model.fail(key, false));
    }),
  ),
  aKey.map((key) =>
    step(`park ${key}`, (model, { queue }) => {
      model.park(key);
      queue.park(key);
    }),
  ),
  aKey.map((key) =>
    step(`forget ${key}`, (model, { queue }) => {
      Object.assign(model.of(key), { attempts: 0, failures: 0 });
      queue.forget(key);
    }),
  ),
  fc.constantFrom(1, 4, 5, 20, 500).map((ms) =>
    step(`advance ${ms}`, async (model, { clock }) => {
      model.advance(ms);
      await clock.advance(ms);
    }),
  ),
];

const shutdowns = [
  fc.constant(
    step('shutdown', (model, { queue }) => {
      model.isShutDown = true;
      model.waitingDrains = 0;
      queue.shutdown();
    }),
  ),
  fc.constant(
    step('shutdownWithDrain', (model, real) => {
      model.isShutDown = true;
      if (model.keysIn('processing').length > 0) model.waitingDrains += 1;
      real.waitingDrains += 1;
      void real.queue.shutdownWithDrain().then(() => (real.waitingDrains -= 1));
    }),
  ),
];

describe('WorkQueue compared with a plain model', () => {
  for (const [numRuns, tier] of [
    [100, ''],
    [3000, ' [slow]'],
  ] as const) {
    it(`has the same state as the model after every operation, in ${numRuns} random sequences of operations${tier}`, async () => {
      // Less than three percent of the steps are shutdowns, so that most schedules are long.
      const often = Array.from({ length: 8 }, () => steps).flat();
      const schedules = fc.commands([...often, ...shutdowns], { maxCommands: 60, size: '+1' });
      await fc.assert(
        fc.asyncProperty(schedules, async (commands) => {
          const clock = new FakeClock();
          const setup = (): { model: PlainQueue; real: Real } => ({
            model: new PlainQueue(),
            real: { clock, queue: new WorkQueue({ clock, retryLimit }), waitingDrains: 0 },
          });
          await fc.asyncModelRun(setup, commands);
        }),
        // Each run of the test uses the same schedules, so that a failure can be repeated.
        { numRuns, seed: 1 },
      );
    });
  }
});
