import type { ApiObject, ControllerKey, ControllerObject, ControllerReport } from '../../api/index.ts';
import type { ControllerDefinition } from '../definition/controller-definition.ts';
import type { RunRecord } from '../observe/run-history.ts';
import type { WriteLog } from '../run/write-log.ts';
import type { KeyState, QueueSizes } from '../../queue/key-state.ts';
import type { WorkItem } from '../../queue/queue-entry.ts';
import { RecentRate, RecentValues } from './recent-runs.ts';
import type { RunWeight, RunWriter } from './run-writer.ts';
import { StateWriter, type StateWriterParts } from './state-writer.ts';

/** The parts of a controller that its reporter reads. */
export interface ReportedController {
  sizes(): QueueSizes;
  failing(): number;
  /** Returns the states of at most `limit` keys: first those that are being processed, then those that wait. */
  keys(limit: number): readonly KeyState[];
  healthProblem(): string | undefined;
}

/** A shard of a controller, and the process that holds it. */
export interface ReportedShard {
  readonly shard: NonNullable<ControllerObject['spec']['shard']>;
  readonly leader: ControllerReport['leader'];
  /** False when another process may hold the shard by now. */
  readonly mayWrite: () => boolean;
}

/** The data of a run that has ended, as a reporter receives it. */
export interface FinishedRun {
  readonly item: WorkItem;
  readonly record: RunRecord;
  readonly error: unknown;
  readonly object: ApiObject | undefined;
  readonly writes: WriteLog | undefined;
  /**
   * Returns the time at which the key is due, in milliseconds since 1970; undefined when the key is not delayed. It is
   * called only for runs that are recorded.
   */
  readonly nextTime: () => number | undefined;
}

export interface ControllerReporterParts extends Omit<StateWriterParts, 'report'> {
  readonly definition: ControllerDefinition;
  /** The name of the controller in reports: `<name of the manager>/<controller>`. */
  readonly name: string;
  readonly runs: RunWriter;
}

/** The maximum number of keys in a report: longer reports would be slow to read. */
const maxKeys = 200;
const maxErrorLength = 1024;

/** Reports the runs and the state of one controller. */
export class ControllerReporter {
  readonly #parts: ControllerReporterParts;
  readonly #controller: ReportedController;
  readonly #state: StateWriter;
  readonly #waits = new RecentValues();
  readonly #durations = new RecentValues();
  readonly #rate = new RecentRate();
  readonly #errorRate = new RecentRate();
  readonly #results: Record<string, number> = {};
  readonly #paused = new Map<string, number>();
  readonly #counter = { unrecorded: 0 };

  constructor(parts: ControllerReporterParts, controller: ReportedController) {
    this.#parts = parts;
    this.#controller = controller;
    this.#state = new StateWriter({ ...parts, report: () => this.#report() });
  }

  /** Called when the state of the controller may have changed, so that the state is reported soon. */
  touch(): void {
    this.#state.touch();
  }

  /** Called when a run has ended. The call takes about 100 ns for a run that is not recorded. */
  ended(run: FinishedRun): void {
    const { item, record } = run;
    const { result, durationMs } = record;
    const nowMs = this.#parts.clock.monotonicMs();
    this.#results[result] = (this.#results[result] ?? 0) + 1;
    this.#waits.add(item.waitMs ?? 0);
    this.#durations.add(durationMs);
    this.#rate.add(nowMs);
    const isError = result === 'error' || result === 'terminal' || result === 'timeout';
    if (isError) this.#errorRate.add(nowMs);
    this.#state.touch();
    const isNew = this.#notePause(record.key, result === 'paused');
    if (result === 'paused' && !isNew) return;
    const weight = isError ? 'failed' : weightOf(run);
    if (this.#parts.runs.accepts(weight)) this.#record(run, weight);
    else this.#counter.unrecorded += 1;
  }

  /** Reports the final state of the controller, with `running: false`. */
  async close(): Promise<void> {
    await this.#state.close();
  }

  #record({ item, record, error, object, writes, nextTime }: FinishedRun, weight: RunWeight): void {
    const { runs, name: controller, definition } = this.#parts;
    const { model } = definition;
    const ended = { controller, model, record, error, object, writes, counter: this.#counter };
    runs.add({ ...ended, waitMs: item.waitMs ?? 0, nextTime: nextTime() }, weight);
  }

  /** Stores whether the key is paused. Returns false when the key is paused and was paused before; otherwise true. */
  #notePause(key: string, isPaused: boolean): boolean {
    if (!isPaused) {
      if (this.#paused.size > 0) this.#paused.delete(key);
      return true;
    }
    const isNew = !this.#paused.has(key);
    if (isNew) this.#paused.set(key, this.#parts.clock.now());
    return isNew;
  }

  #report(): Omit<ControllerReport, 'reportTime' | 'running'> {
    const nowMs = this.#parts.clock.monotonicMs();
    const failing = this.#controller.failing();
    const sizes = this.#controller.sizes();
    const waiting = this.#controller.keys(maxKeys).map(keyOf);
    const paused = Array.from(this.#paused.keys(), (key) => ({ key, state: 'paused' as const, attempts: 0 }));
    const keys = [...waiting, ...paused.slice(0, Math.max(0, maxKeys - waiting.length))];
    const total = sizes.delayed + sizes.parked + sizes.processing + sizes.ready + this.#paused.size;
    const [waitMs, durationMs] = [this.#waits.percentiles(), this.#durations.percentiles()];
    const problem = this.#controller.healthProblem();
    return {
      queue: { ...sizes, paused: this.#paused.size, failing },
      keys,
      ...(total > keys.length ? { omittedKeys: total - keys.length } : {}),
      runs: { ...this.#results },
      rates: { runs: this.#rate.perSecond(nowMs), errors: this.#errorRate.perSecond(nowMs) },
      ...(waitMs === undefined ? {} : { waitMs }),
      ...(durationMs === undefined ? {} : { durationMs }),
      ...(problem === undefined ? {} : { problem }),
    };
  }
}

/** Returns the importance of a run. Most runs are `plain`, because they change nothing. */
function weightOf({ record: { result, reasons }, writes }: FinishedRun): RunWeight {
  if (reasons.some(({ type }) => type === 'manual')) return 'asked';
  const isUsual = result === 'success' || result === 'requeue_after' || result === 'requeue';
  return isUsual && writes === undefined ? 'plain' : 'notable';
}

function keyOf({ key, state, attempts, failingSince, nextTime, lastError, reasons }: KeyState): ControllerKey {
  return {
    key,
    state,
    attempts,
    ...(failingSince === undefined ? {} : { failingSince: new Date(failingSince).toISOString() }),
    ...(nextTime === undefined ? {} : { nextTime: new Date(nextTime).toISOString() }),
    ...(lastError === undefined ? {} : { lastError: lastError.slice(0, maxErrorLength).toWellFormed() }),
    ...(reasons.length === 0 ? {} : { reasons: [...new Set(reasons.map(({ type }) => type))] }),
  };
}
