/** The purpose of work: a request, whose client waits, or the server's own maintenance. */
export type Purpose = 'request' | 'background';

/** The time for which steps are resumed in one turn of the event loop. */
export const msPerTurn = 5;

interface Lane {
  readonly waiting: (() => void)[];
  /** The time that the steps of this lane have taken. */
  usedMs: number;
}

/**
 * Shares the event loop among pieces of long work. A turn of the event loop resumes them in the order of their calls,
 * until 5 ms are used. With one step in each turn, each of many large writes would have to wait for a turn for each
 * step of all others; longer turns would delay small requests. When requests and background work both wait, each gets
 * half of the time.
 */
export class TurnQueue {
  readonly #nowMs: () => number;
  readonly #lanes: Readonly<Record<Purpose, Lane>> = {
    request: { waiting: [], usedMs: 0 },
    background: { waiting: [], usedMs: 0 },
  };
  #running: Lane | undefined;
  #isScheduled = false;
  #turnBeganMs = 0;

  /** `nowMs` returns the time of a monotonic clock. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Resolves when the caller may do its next step. */
  next(purpose: Purpose): Promise<void> {
    return new Promise((resolve) => {
      const { request, background } = this.#lanes;
      const lane = this.#lanes[purpose];
      // A lane that had no work cannot use the time that it did not need earlier.
      if (lane.waiting.length === 0 && lane !== this.#running) {
        lane.usedMs = Math.max(request.usedMs, background.usedMs);
      }
      lane.waiting.push(resolve);
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      // This callback may still run in the turn of the caller, which may already have taken long.
      setImmediate(() => this.#schedule());
    });
  }

  #schedule(): void {
    this.#isScheduled = true;
    setImmediate(() => {
      this.#turnBeganMs = this.#nowMs();
      this.#resume();
    });
  }

  #resume(): void {
    const lane = this.#nextLane();
    this.#isScheduled = lane !== undefined;
    if (lane === undefined) return;
    const beganMs = this.#nowMs();
    this.#running = lane;
    lane.waiting.shift()?.();
    // The step runs in microtasks, and the callback of nextTick runs after all of them.
    queueMicrotask(() => process.nextTick(() => this.#goOn(lane, beganMs)));
  }

  #goOn(lane: Lane, beganMs: number): void {
    const nowMs = this.#nowMs();
    lane.usedMs += nowMs - beganMs;
    this.#running = undefined;
    if (nowMs - this.#turnBeganMs < msPerTurn) return this.#resume();
    this.#isScheduled = false;
    if (this.#nextLane() !== undefined) this.#schedule();
  }

  #nextLane(): Lane | undefined {
    const { request, background } = this.#lanes;
    if (request.waiting.length === 0) return background.waiting.length === 0 ? undefined : background;
    return background.waiting.length > 0 && background.usedMs < request.usedMs ? background : request;
  }
}
