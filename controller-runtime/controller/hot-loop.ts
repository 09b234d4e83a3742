const windowMs = 60_000;

interface RunCount {
  generation: number | undefined;
  runs: number;
}

/**
 * Notices keys that run again and again though their spec does not change: mostly two controllers that undo each
 * other's work. Counts per minute and forgets the minute before, so that memory is bounded by the keys of one minute.
 */
export class HotLoopDetector {
  readonly #limit: number;
  #counts = new Map<string, RunCount>();
  #windowStartMs = -Infinity;

  /** Warns of keys that run more often than this in a minute. */
  constructor(runsPerMinute: number) {
    this.#limit = runsPerMinute;
  }

  /** Counts a run; true once a minute for a key that goes above the limit. */
  countRun(key: string, generation: number | undefined, nowMs: number): boolean {
    if (nowMs - this.#windowStartMs >= windowMs) {
      this.#counts = new Map();
      this.#windowStartMs = nowMs;
    }
    const count = this.#counts.get(key);
    if (count === undefined || count.generation !== generation) {
      this.#counts.set(key, { generation, runs: 1 });
      return false;
    }
    count.runs += 1;
    return count.runs === this.#limit + 1;
  }
}
