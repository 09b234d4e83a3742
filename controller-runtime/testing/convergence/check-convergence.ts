import { ConvergenceError } from './convergence-error.ts';
import type { ConvergenceFailure } from './convergence-error.ts';
import type { ConvergenceOptions, ConvergenceReport, StartServer } from './convergence-options.ts';
import { runOnce } from './convergence-run.ts';
import type { RunOutcome } from './convergence-run.ts';
import { drawFaults } from './drawn-faults.ts';
import { checkSystemNames } from './external-state.ts';
import { noFaults, sweptFaults } from './fault-plan.ts';
import type { FaultPlan, RunExtent } from './fault-plan.ts';
import type { FinalState } from './final-state.ts';
import { seededRandom } from '../fakes/seeded-random.ts';
import { smallerPlans } from './smaller-plans.ts';
import { differencesOf } from './state-difference.ts';

export interface CheckOptions extends ConvergenceOptions {
  /** Starts an empty server that serves the models. It is called for each run. */
  readonly startServer: StartServer;
}

const defaultSeeds = 100;

/**
 * Runs the scenario first without faults, then with one fault in each run. The faults are, for each write of the
 * controllers: crashes before and after it, a lost response, a refusal and (except for a create) a conflict; for each
 * of their reads: a refusal; for each call to an external system: a failure and a lost response. If there are more than
 * a hundred reads or calls, a hundred of each get a fault. Then the scenario runs with random faults: crashes, changes
 * of leaders, failed requests, broken watches, late and repeated events, and caches that lag. Each run has to reach the
 * final state of the run without faults, without a permanent failure and without a broken invariant. If a run does not,
 * the check rejects with ConvergenceError, which names the faults that matter, the differences, and the seed of a run
 * with random faults. Rejects with TypeError when the controllers write nothing in the run without faults, because the
 * check would then prove nothing.
 */
export async function checkConvergenceOn(options: CheckOptions): Promise<ConvergenceReport> {
  checkSystemNames(options.externalSystems ?? []);
  const check = new ConvergenceCheck(options);
  const seeds = seedsOf(options);
  const extent = await check.runWithoutFaults();
  if (extent.writes.length === 0)
    throw new TypeError('the controllers wrote nothing in the run without faults: there is nothing to check');
  for (const plan of sweptFaults(extent)) await check.run(plan);
  for (const seed of seeds) await check.run(drawFaults(seededRandom(seed), extent), seed);
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
  #expected: FinalState | undefined;
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
    const failure = this.#failureOf(outcome, undefined);
    if (failure !== undefined) throw new ConvergenceError(failure);
    if ('state' in outcome.end) this.#expected = outcome.end.state;
    return outcome.extent;
  }

  async run(plan: FaultPlan, seed?: number): Promise<void> {
    const failure = await this.#try(plan, seed);
    if (failure !== undefined) throw new ConvergenceError(await this.#shrink(plan, failure));
  }

  async #try(plan: FaultPlan, seed: number | undefined): Promise<ConvergenceFailure | undefined> {
    return this.#failureOf(await this.#runOnce(plan, seed ?? 0), seed);
  }

  /**
   * Removes and simplifies faults, one at a time, as long as the run still fails. Returns the failure with the
   * remaining faults.
   */
  async #shrink(plan: FaultPlan, failure: ConvergenceFailure): Promise<ConvergenceFailure> {
    for (const smaller of smallerPlans(plan)) {
      const found = await this.#try(smaller, failure.seed);
      if (found !== undefined) return this.#shrink(smaller, found);
    }
    return failure;
  }

  #failureOf(outcome: RunOutcome, seed: number | undefined): ConvergenceFailure | undefined {
    const { end, faults, failing, lastError } = outcome;
    const run = this.#nameOf(faults);
    const failure = { seed, faults, failing, differences: [], ...(failing.length === 0 ? {} : { cause: lastError }) };
    if ('error' in end) {
      const { error: cause } = end;
      const reason = cause instanceof Error ? cause.message : String(cause);
      return { ...failure, problem: `${run} failed: ${reason}`, cause };
    }
    const differences = this.#expected === undefined ? [] : differencesOf(this.#expected, end.state);
    if (differences.length > 0)
      return { ...failure, problem: `${run} ended in another state than the run without faults`, differences };
    return failing.length === 0 ? undefined : { ...failure, problem: `${run} ended with permanent failures` };
  }

  #nameOf(faults: readonly string[]): string {
    if (faults.length > 0) return 'a run with faults';
    return this.#expected === undefined ? 'the run without faults' : 'another run without faults';
  }

  async #runOnce(plan: FaultPlan, seed: number): Promise<RunOutcome> {
    const { startServer } = this.#options;
    const outcome = await runOnce({ options: this.#options, startServer, plan, seed });
    this.#runs += 1;
    this.#faults += outcome.faults.length;
    return outcome;
  }
}
