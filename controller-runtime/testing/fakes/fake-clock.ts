import type { Clock, Timer } from '../../api/index.ts';

interface FakeTimer extends Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/**
 * The number of turns of the event loop between two timers: two, because work that a callback starts may itself yield
 * once.
 */
const turnsBetweenTimers = 2;

/**
 * A clock that advances only when a test advances it. `now` begins at 2030-01-01T00:00:00Z unless the test sets another
 * time. When a callback throws, the call of `advance` that ran it rejects.
 */
export class FakeClock implements Clock {
  readonly #startMs: number;
  readonly #timers = new Map<Timer, FakeTimer>();
  #elapsedMs = 0;

  constructor(startMs: number = Date.UTC(2030, 0, 1)) {
    this.#startMs = startMs;
  }

  now(): number {
    return this.#startMs + this.#elapsedMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  setTimeout(callback: () => void, delayMs: number): Timer {
    const timer: FakeTimer = { dueMs: this.#elapsedMs + Math.max(0, delayMs), callback };
    this.#timers.set(timer, timer);
    return timer;
  }

  clearTimeout(timer: Timer | undefined): void {
    if (timer !== undefined) this.#timers.delete(timer);
  }

  /** The number of pending timers. If a test ends with pending timers, it has left something running. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /**
   * Advances the clock, and runs the due callbacks in the order of their times, including callbacks that are scheduled
   * meanwhile. Promises settle between two timers.
   */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#elapsedMs + ms;
    await turns(turnsBetweenTimers);
    for (let timer = this.#next(untilMs); timer !== undefined; timer = this.#next(untilMs)) {
      this.#fire(timer);
      await turns(turnsBetweenTimers);
    }
    this.#elapsedMs = untilMs;
  }

  /**
   * Advances the clock, timer by timer, until the condition is true. Rejects when it is not true within `limitMs` of
   * this clock (default an hour).
   */
  async runUntil(condition: () => boolean, limitMs: number = 3_600_000): Promise<void> {
    const untilMs = this.#elapsedMs + limitMs;
    while (!(await holdsSoon(condition))) {
      const timer = this.#next(untilMs);
      if (timer === undefined) throw new Error(`the condition was not true within ${limitMs} ms of fake time`);
      this.#fire(timer);
    }
  }

  #next(untilMs: number): FakeTimer | undefined {
    let first: FakeTimer | undefined;
    for (const timer of this.#timers.values()) {
      if (timer.dueMs <= untilMs && (first === undefined || timer.dueMs < first.dueMs)) first = timer;
    }
    return first;
  }

  #fire(timer: FakeTimer): void {
    this.#timers.delete(timer);
    this.#elapsedMs = Math.max(this.#elapsedMs, timer.dueMs);
    timer.callback();
  }
}

/**
 * True when the condition becomes true within a few turns of the event loop. This gives work in flight the turns that
 * it needs before the clock advances.
 */
async function holdsSoon(condition: () => boolean): Promise<boolean> {
  for (let turn = 0; turn < 20; turn += 1) {
    if (condition()) return true;
    await turns(1);
  }
  return condition();
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}
