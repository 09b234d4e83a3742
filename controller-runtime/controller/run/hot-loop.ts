const windowMs = 60_000;

/**
 * A key whose spec changes may have this many times as many runs per minute as another key, because its runs may follow
 * changes by users.
 */
const changingFactor = 10;

interface RunCount {
  generation: number | undefined;
  /** The number of runs of the key in the current minute. It starts again at 0 when the spec changes. */
  runs: number;
  all: number;
}

/**
 * The report about a key that exceeds a limit of runs per minute: the usual limit while the spec of its object stays
 * the same, or ten times this limit when the spec changes (`isChanging`).
 */
interface HotLoop {
  readonly runsPerMinute: number;
  readonly isChanging: boolean;
}

/**
 * Detects keys that run too often. The usual cause is that two controllers undo each other's work, or that each run of
 * one controller writes a different value. The counts are kept for one minute only, so that the memory is bounded by
 * the number of keys in one minute.
 */
export class HotLoopDetector {
  readonly #limit: number;
  #counts = new Map<string, RunCount>();
  #windowStartMs = -Infinity;

  /** `runsPerMinute` is the limit: keys that run more often in a minute are reported. */
  constructor(runsPerMinute: number) {
    this.#limit = runsPerMinute;
  }

  /**
   * Counts a run. Returns a report for the run with which the key exceeds a limit, but not for the following runs above
   * that limit.
   */
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
