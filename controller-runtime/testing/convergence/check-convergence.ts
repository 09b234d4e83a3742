import { ConvergenceError } from './convergence-error.ts';
import type { ConvergenceFailure } from './convergence-error.ts';
import type { ConvergenceOptions, ConvergenceReport, StartServer } from './convergence-options.ts';
import { runOnce } from './convergence-run.ts';
import type { RunOutcome } from './convergence-run.ts';
import { crashAfter, drawFaults, noFaults } from './fault-plan.ts';
import type { FaultPlan, RunExtent } from './fault-plan.ts';
import type { FinalState } from './final-state.ts';
import { seededRandom } from '../seeded-random.ts';
import { differencesOf } from './state-difference.ts';

export interface CheckOptions extends ConvergenceOptions {
  /** A server for each run, empty, with the models served. */
  readonly startServer: StartServer;
}

const defaultSeeds = 100;

/**
 * Runs the scenario without faults, then with a crash after each write of the reconcilers, then with drawn faults: crashes,
 * changes of leaders, conflicts, lost requests and answers, lost, late and repeated events, caches that are behind. Each
 * run has to come to the state of the first, and no invariant may break on the way: ConvergenceError otherwise, which says
 * what was injected where, what differs, and with which seed to run it again. TypeError when the reconcilers write nothing
 * even without faults, since that would prove nothing.
 */
export async function checkConvergenceOn(options: CheckOptions): Promise<ConvergenceReport> {
  const check = new ConvergenceCheck(options);
  const { writes, events } = await check.runWithoutFaults();
  if (writes === 0)
    throw new TypeError('the reconcilers wrote nothing in the run without faults: there is nothing to check');
  for (let write = 1; write <= writes; write += 1) await check.run(crashAfter(write));
  for (const seed of seedsOf(options)) await check.run(drawFaults(seededRandom(seed), { writes, events }), seed);
  return check.report;
}

function seedsOf({ seeds = defaultSeeds }: ConvergenceOptions): readonly number[] {
  if (typeof seeds !== 'number') return seeds;
  if (!Number.isSafeInteger(seeds) || seeds < 0)
    throw new RangeError(`seeds must be a whole number >= 0, not ${seeds}`);
  return Array.from({ length: seeds }, (_, index) => index + 1);
}

class ConvergenceCheck {
  readonly #options: CheckOptions;
  #expected: FinalState = new Map();
  #runs = 0;
  #faults = 0;

  constructor(options: CheckOptions) {
    this.#options = options;
  }

  get report(): ConvergenceReport {
    return { runs: this.#runs, faults: this.#faults };
  }

  async runWithoutFaults(): Promise<RunExtent> {
    const outcome = await this.#runOnce(noFaults, 0);
    if ('error' in outcome.end) throw failed(outcome, { problem: 'the run without faults failed', seed: undefined });
    this.#expected = outcome.end.state;
    return outcome.extent;
  }

  async run(plan: FaultPlan, seed?: number): Promise<void> {
    const outcome = await this.#runOnce(plan, seed ?? 0);
    if ('error' in outcome.end) throw failed(outcome, { problem: 'a run with faults failed', seed });
    const differences = differencesOf(this.#expected, outcome.end.state);
    if (differences.length === 0) return;
    const problem = 'a run with faults came to another end than the one without';
    throw new ConvergenceError({ problem, seed, differences, faults: outcome.faults, failing: outcome.failing });
  }

  async #runOnce(plan: FaultPlan, seed: number): Promise<RunOutcome> {
    const { startServer } = this.#options;
    const outcome = await runOnce({ options: this.#options, startServer, plan, seed });
    this.#runs += 1;
    this.#faults += outcome.faults.length;
    return outcome;
  }
}

function failed(
  { end, faults, failing }: RunOutcome,
  { problem, seed }: Pick<ConvergenceFailure, 'problem' | 'seed'>,
): ConvergenceError {
  const cause = 'error' in end ? end.error : undefined;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ConvergenceError({ problem: `${problem}: ${reason}`, seed, faults, failing, differences: [], cause });
}
