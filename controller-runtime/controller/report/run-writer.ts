import {
  isAlreadyExists,
  isNotFound,
  runModel,
  type ApiObject,
  type Clock,
  type Logger,
  type Timer,
} from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { nextTurn } from '../../clock/next-turn.ts';
import { endsWithin } from '../../clock/sleep.ts';
import { runObject, type ReportedRun } from './run-object.ts';

export interface RunWriterParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly isSecret: (object: ApiObject) => boolean;
}

/** The interval of writes: runs are written together once a second, so that they commit together. */
const intervalMs = 1000;

/**
 * The number of runs that may be recorded in each interval. The limit is low, because a record costs about as much as
 * 20 runs that do nothing, and people read only a few records.
 */
const perInterval = 25;
/** The maximum number of runs that are recorded in one interval after intervals that recorded fewer than allowed. */
const burst = 200;

/**
 * The number of runs in a second above which a process records only a few of the runs that neither failed nor were
 * requested by a user.
 */
const busyRunsPerSecond = 100;
const othersWhenBusy = 5;

/**
 * The importance of a run: `failed`; `asked`: a user requested it; `notable`: it wrote something, had a conflict, was
 * paused, or ended early because the controller stops; `plain`: none of these.
 */
export type RunWeight = 'failed' | 'asked' | 'notable' | 'plain';

/** The wait after a write that failed. */
const retryMs = 10_000;

/** The maximum time for which a stop waits for records that are not written yet. */
const closeMs = 5000;

/** Writes the records of runs: all records while there are few runs, otherwise only the most important ones. */
export class RunWriter {
  readonly #parts: RunWriterParts;
  /** The runs that were passed to {@link add} in the current interval, and are not recorded yet. */
  readonly #waiting: Readonly<Record<RunWeight, ReportedRun[]>> = {
    failed: [],
    asked: [],
    notable: [],
    plain: [],
  };
  #tokens = burst;
  #filledMs: number;
  /** The number of all runs of the current interval, including those that were not accepted. */
  #offered = 0;
  #timer: Timer | undefined;
  #writing: Promise<void> | undefined;
  #hasFailed = false;
  /** True after a failure was logged, until a write succeeds. In between, further failures are not logged. */
  #isLogged = false;
  #isClosed = false;

  constructor(parts: RunWriterParts) {
    this.#parts = parts;
    this.#filledMs = parts.clock.monotonicMs();
  }

  /**
   * Counts a run that has ended, and returns whether its record should be passed to {@link add}. Returns false after
   * {@link close}, and when as many runs of this importance wait already as can be recorded now.
   */
  accepts(weight: RunWeight): boolean {
    this.#offered += 1;
    return !this.#isClosed && this.#waiting[weight].length < this.#tokens;
  }

  add(run: ReportedRun, weight: RunWeight): void {
    this.#waiting[weight].push(run);
    this.#arm(intervalMs);
  }

  /** Writes the records that still wait, for at most five seconds, and accepts no more runs. */
  async close(): Promise<void> {
    const { clock } = this.#parts;
    this.#isClosed = true;
    clock.clearTimeout(this.#timer);
    await endsWithin(clock, closeMs, this.#writeRest());
  }

  async #writeRest(): Promise<void> {
    await this.#writing;
    if (!this.#hasFailed) await this.#writeBatch();
  }

  #arm(delayMs: number): void {
    if (this.#timer !== undefined || this.#writing !== undefined || this.#isClosed) return;
    this.#timer = this.#parts.clock.setTimeout(() => {
      this.#timer = undefined;
      this.#writing = this.#writeBatch().finally(() => {
        this.#writing = undefined;
        if (this.#hasWaiting()) this.#arm(this.#hasFailed ? retryMs : intervalMs);
      });
    }, delayMs);
    this.#timer.unref?.();
  }

  async #writeBatch(): Promise<void> {
    this.#hasFailed = false;
    await Promise.all((await this.#objects()).map(async (object) => this.#write(object)));
  }

  async #objects(): Promise<readonly Awaited<ReturnType<typeof runObject>>[]> {
    const objects = [];
    for (const run of this.#take()) {
      objects.push(await runObject(run, this.#parts.isSecret));
      await nextTurn();
    }
    return objects;
  }

  /**
   * Returns the runs of this interval to record: first those that failed, then those that a user requested, then the
   * others. The maximum is 25 runs, or up to 200 at first and after intervals that recorded fewer than 25. When the
   * process is busy and the maximum is 25, at most five runs are returned that neither failed nor were requested by a
   * user. All runs that are not returned are dropped, because the next interval has runs of its own.
   */
  #take(): readonly ReportedRun[] {
    const { failed, asked, notable, plain } = this.#waiting;
    const nowMs = this.#parts.clock.monotonicMs();
    const seconds = (nowMs - this.#filledMs) / 1000;
    const isBusy = this.#offered > busyRunsPerSecond * seconds;
    const most = isBusy && this.#tokens <= perInterval ? othersWhenBusy : burst;
    const others = [...notable.splice(0), ...plain.splice(0)];
    const all = [...failed.splice(0), ...asked.splice(0), ...others.slice(0, most)];
    const taken = all.slice(0, this.#tokens);
    for (const { counter } of [...all.slice(taken.length), ...others.slice(most)]) counter.unrecorded += 1;
    this.#filledMs = nowMs;
    this.#offered = 0;
    const left = this.#tokens - taken.length + Math.floor((seconds * 1000 * perInterval) / intervalMs);
    // A busy process does not save a part of the budget for later, because it would then spend the whole sum in one
    // interval.
    this.#tokens = Math.max(perInterval, isBusy ? 0 : Math.min(burst, left));
    return taken;
  }

  #hasWaiting(): boolean {
    return Object.values(this.#waiting).some((runs) => runs.length > 0);
  }

  async #write(object: Awaited<ReturnType<typeof runObject>>): Promise<void> {
    const { client, logger } = this.#parts;
    const { namespace } = object.metadata;
    try {
      await client.create(runModel, object, { namespace });
      this.#isLogged = false;
    } catch (err) {
      if (isAlreadyExists(err) || isLostNamespace(err)) return;
      this.#hasFailed = true;
      if (this.#isLogged) return;
      this.#isLogged = true;
      logger.warn({ err }, 'a run could not be recorded; later runs are still recorded if possible');
    }
  }
}

/**
 * True for the error of a write into a namespace that is deleted or being deleted. This error is not logged, because
 * the object that the run reconciled may be deleted together with its namespace.
 */
function isLostNamespace(error: unknown): boolean {
  return isNotFound(error) || (error instanceof Error && error.message.includes('is being terminated'));
}
