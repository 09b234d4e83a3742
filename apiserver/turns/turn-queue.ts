/**
 * The purpose of work: a request whose client waits, work of the server on which requests depend, or upkeep on
 * which no request depends.
 */
export type Purpose = 'request' | 'background' | 'upkeep';

/** The time in milliseconds after which a turn of the event loop resumes no further step. */
export const msPerTurn = 5;

/**
 * The time in milliseconds after which a turn resumes no further step of upkeep, which is work on which no request
 * depends. A write takes about five turns of the event loop, and the steps of upkeep in each of these turns delay the
 * write. When nothing else runs, the next turn begins at once, so this limit does not delay upkeep.
 */
const upkeepMsPerTurn = 1;

/** The waiting steps of all work with the same {@link Purpose}. */
interface Lane {
  readonly waiting: (() => void)[];
  /**
   * The time in milliseconds that the steps of this purpose have taken. When the purpose gets work after it had none,
   * `usedMs` is raised to the largest `usedMs` of all purposes. So the purpose gets no extra time now for the time that
   * it did not use.
   */
  usedMs: number;
  /** The time in milliseconds that work for this {@link Purpose} has taken in the current turn of the event loop. */
  turnMs: number;
  /** The time in milliseconds that work for this {@link Purpose} may take in one turn of the event loop. */
  readonly mostMs: number;
}

/**
 * Shares the event loop among pieces of long work. After each step, a piece waits behind all other pieces of its
 * {@link Purpose}. Each turn runs waiting steps until 5 ms are used. If each turn ran only one step, the next step of a
 * large write would wait for as many turns as other pieces wait. Longer turns would delay small requests. When work of
 * several purposes waits, each purpose gets an equal part of the time, so that none starves the others. Upkeep gets at
 * most 1 ms of a turn.
 */
export class TurnQueue {
  readonly #nowMs: () => number;
  readonly #lanes: Readonly<Record<Purpose, Lane>> = {
    request: { waiting: [], usedMs: 0, turnMs: 0, mostMs: msPerTurn },
    background: { waiting: [], usedMs: 0, turnMs: 0, mostMs: msPerTurn },
    upkeep: { waiting: [], usedMs: 0, turnMs: 0, mostMs: upkeepMsPerTurn },
  };
  /** All lanes. When several lanes have used the same amount of time, the first of them in this list runs first. */
  readonly #all: readonly Lane[] = Object.values(this.#lanes);
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
      const lane = this.#lanes[purpose];
      // A lane that had no work gets no extra time now for the time that it did not use.
      if (lane.waiting.length === 0 && lane !== this.#running) {
        for (const { usedMs } of this.#all) lane.usedMs = Math.max(lane.usedMs, usedMs);
      }
      lane.waiting.push(resolve);
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      // This callback may still run in the caller's turn, which may already have taken long. So it does no step, and
      // only schedules the next turn.
      setImmediate(() => this.#schedule());
    });
  }

  #schedule(): void {
    this.#isScheduled = true;
    setImmediate(() => {
      this.#turnBeganMs = this.#nowMs();
      for (const lane of this.#all) lane.turnMs = 0;
      this.#resume();
    });
  }

  #resume(): void {
    const lane = this.#nextLane();
    if (lane === undefined) return this.#endTurn();
    const beganMs = this.#nowMs();
    this.#running = lane;
    lane.waiting.shift()?.();
    // The step runs in microtasks, and the callback of nextTick runs after all of them.
    queueMicrotask(() => process.nextTick(() => this.#goOn(lane, beganMs)));
  }

  #goOn(lane: Lane, beganMs: number): void {
    const nowMs = this.#nowMs();
    lane.usedMs += nowMs - beganMs;
    lane.turnMs += nowMs - beganMs;
    this.#running = undefined;
    if (nowMs - this.#turnBeganMs < msPerTurn) return this.#resume();
    this.#endTurn();
  }

  #endTurn(): void {
    this.#isScheduled = false;
    if (this.#all.some(({ waiting }) => waiting.length > 0)) this.#schedule();
  }

  /**
   * Returns the waiting steps of the purpose whose steps have taken the least time. Skips a purpose without waiting
   * steps, and a purpose that has used up its time in this turn of the event loop.
   */
  #nextLane(): Lane | undefined {
    let next: Lane | undefined;
    for (const lane of this.#all) {
      if (lane.waiting.length === 0 || lane.turnMs >= lane.mostMs) continue;
      if (next === undefined || lane.usedMs < next.usedMs) next = lane;
    }
    return next;
  }
}
