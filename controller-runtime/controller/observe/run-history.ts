import type { RunResult } from '../../api/index.ts';
import type { Reason } from '../../queue/reason.ts';

/** One run of one key that has ended. */
export interface RunRecord {
  /** `name`, or `namespace/name`. */
  readonly key: string;
  /** The id of the run, which is also in its log, its events and its span. */
  readonly reconcileID: string;
  /** The reasons why the key was in the queue. */
  readonly reasons: readonly Reason[];
  /** The number of consecutive failures, requeues and conflicts of the key before this run. */
  readonly attempts: number;
  /** Milliseconds since 1970. */
  readonly startTime: number;
  /** The duration, measured with the clock of the manager. */
  readonly durationMs: number;
  /**
   * The result. `terminal` and `timeout` are errors, too; `stopped` means that the controller stopped, and `paused`
   * that the object is paused.
   */
  readonly result: RunResult;
  /** The first 1,024 characters of the run's error. */
  readonly error?: string;
}

/** The maximum number of runs that the history keeps for one key. */
const maxRuns = 10;
/**
 * The maximum number of keys in the history. When there are more, the key whose last run is the oldest is dropped.
 */
const maxKeys = 1000;

/**
 * The last runs of a controller, for people: up to ten runs of each key, for the thousand keys with the latest runs.
 */
export class RunHistory {
  /** The runs by key. The keys are in the order of their last runs. */
  readonly #runs = new Map<string, RunRecord[]>();

  record(run: RunRecord): void {
    const { key } = run;
    const runs = this.#runs.get(key) ?? [];
    this.#runs.delete(key);
    this.#runs.set(key, runs);
    runs.push(run);
    if (runs.length > maxRuns) runs.shift();
    if (this.#runs.size <= maxKeys) return;
    const [oldest] = this.#runs.keys();
    if (oldest !== undefined) this.#runs.delete(oldest);
  }

  /** At most `limit` runs of a key, the newest first. */
  of(key: string, limit: number = Infinity): readonly RunRecord[] {
    return this.#runs.get(key)?.toReversed().slice(0, limit) ?? [];
  }

  /** The last run of each key, the newest first, at most `limit` runs. */
  last(limit: number): readonly RunRecord[] {
    const newest = [...this.#runs.values()].reverse().slice(0, limit);
    return newest.flatMap((runs) => runs.at(-1) ?? []);
  }
}
