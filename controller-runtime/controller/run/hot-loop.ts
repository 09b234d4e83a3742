const windowMs = 60_000;

/** Users change a spec as well, so runs with spec changes count as a loop only at this many times the limit. */
const changingFactor = 10;

interface RunCount {
  generation: number | undefined;
  /** The number of runs since the spec changed. */
  runs: number;
  all: number;
}

/** A key that runs more often per minute than the limit, while its spec stays the same or changes again and again. */
interface HotLoop {
  readonly runsPerMinute: number;
  readonly isChanging: boolean;
}

/**
 * Detects keys that run again and again: usually two controllers undo each other's work, or each run of one
 * controller writes something else. Counts per minute and forgets the minute before, so that the keys of one minute
 * bound the memory.
 */
export class HotLoopDetector {
  readonly #limit: number;
  #counts = new Map<string, RunCount>();
  #windowStartMs = -Infinity;

  /** Warns of keys that run more often than this in a minute. */
  constructor(runsPerMinute: number) {
    this.#limit = runsPerMinute;
  }

  /** Counts a run; returns a report once a minute for a key that exceeds a limit. */
  countRun(key: string, generation: number | undefined, nowMs: number): HotLoop | undefined {
    if (nowMs - this.#windowStartMs >= windowMs) {
      this.#counts = new Map();
      this.#windowStartMs = nowMs;
    }
    const count = this.#counts.get(key) ?? { generation, runs: 0, all: 0 };
    this.#counts.set(key, count);
    if (count.generation !== generation) Object.assign(count, { generation, runs: 0 });
    count.runs += 1;
    count.all += 1;
    if (count.runs === this.#limit + 1) return { runsPerMinute: this.#limit, isChanging: false };
    const runsPerMinute = this.#limit * changingFactor;
    return count.all === runsPerMinute + 1 && count.runs <= this.#limit
      ? { runsPerMinute, isChanging: true }
      : undefined;
  }
}
