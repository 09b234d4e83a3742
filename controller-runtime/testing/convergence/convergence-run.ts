import { descriptorOf, apiVersionOf, ignoreNotFound, parseKey } from '../../api/index.ts';
import type { ModelDescriptor } from '../../api/index.ts';
import { listEverything } from '../../client/list-everything.ts';
import { followedModels } from '../../controller/definition/controller-definition.ts';
import type { ControllerDefinition } from '../../controller/definition/controller-definition.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import type { FailingKey } from './controller-process.ts';
import type { ConvergenceOptions, ConvergenceServer, StartServer } from './convergence-options.ts';
import { callsOf, injectCallFaults } from './external-state.ts';
import { FaultDriver, kindIn } from './fault-driver.ts';
import { noFaults } from './fault-plan.ts';
import type { FaultPlan, RunExtent } from './fault-plan.ts';
import { finalStateOf } from './final-state.ts';
import type { FinalState } from './final-state.ts';
import { describeFailure } from './failed-runs.ts';
import type { FailedRun } from './failed-runs.ts';
import { Invariants } from './invariants.ts';
import { KindHistory } from './kind-history.ts';
import { seededRandom, seededUuid } from '../fakes/seeded-random.ts';

export interface ConvergenceRunParts {
  readonly options: ConvergenceOptions;
  readonly startServer: StartServer;
  readonly plan: FaultPlan;
  /** The seed of all random numbers in the run, except those of the faults. */
  readonly seed: number;
}

/** The result of one run of the scenario under the faults of a plan. */
export interface RunOutcome {
  /** The final state of the objects, or the error that ended the run before that. */
  readonly end: { readonly state: FinalState } | { readonly error: unknown };
  readonly extent: RunExtent;
  readonly faults: readonly string[];
  /** The failures that remain at the end of the run, a line each. */
  readonly failing: readonly string[];
  /** The last error that the manager of the running process logged; undefined when there is none. */
  readonly lastError: unknown;
}

const maxSettleMs = 600_000;
const longestStepMs = 1_000;
/**
 * The longest back-off for which the run waits. A key with a longer back-off counts as idle, because it fails
 * permanently. A key that has requested a delay always counts as idle.
 */
const longestRetryMs = 60_000;
/**
 * The number of consecutive idle turns of the event loop after which the run counts as idle. While one part passes work
 * to another, both may appear idle for a few turns.
 */
const idleTurns = 10;
/** The number of turns of the event loop after which a run that is not idle yet is assumed to wait for the clock. */
const patientTurns = 60;

/**
 * Runs a scenario once, on a server of its own. Errors of the scenario and of the controllers do not reject the
 * promise; the result contains them.
 */
export async function runOnce({ options, startServer, plan, seed }: ConvergenceRunParts): Promise<RunOutcome> {
  const random = seededRandom(seed);
  const clock = new FakeClock();
  const uuid = seededUuid(random);
  const models = modelsOf(options);
  for (const system of options.externalSystems ?? []) system.reset({ clock });
  await options.beforeRun?.({ clock });
  const server = await startServer({ clock, random, uuid, models });
  const recording = new AbortController();
  const histories = new Map<string, KindHistory>();
  try {
    for (const model of models) {
      const history = await KindHistory.start(server.client, model, recording.signal);
      histories.set(kindIn({ ...model, apiVersion: apiVersionOf(model) }), history);
    }
    const invariants = new Invariants({ invariants: options.invariants ?? {}, client: server.client, clock, random });
    const client = invariants.watching(server.controllerClient);
    const { controllers, runnables } = options;
    const driver = new FaultDriver({ client, controllers, runnables, models, clock, random, uuid, plan, histories });
    injectCallFaults(options.externalSystems ?? [], plan.atCall, (fault) => driver.faults.push(fault));
    const run = new ConvergenceRun({ options, models, clock, server, driver, invariants, plan });
    try {
      return await run.run();
    } finally {
      await run.stop();
    }
  } finally {
    recording.abort();
    await server.stop();
    for (const history of histories.values()) await history.end();
  }
}

interface ConvergenceParts {
  readonly options: ConvergenceOptions;
  readonly models: readonly ModelDescriptor[];
  readonly clock: FakeClock;
  readonly server: ConvergenceServer;
  readonly driver: FaultDriver;
  readonly invariants: Invariants;
  readonly plan: FaultPlan;
}

class ConvergenceRun {
  readonly #parts: ConvergenceParts;
  readonly #hidden = new HiddenFailures();

  constructor(parts: ConvergenceParts) {
    this.#parts = parts;
  }

  async run(): Promise<RunOutcome> {
    const { driver, options } = this.#parts;
    driver.start();
    const end = await this.#end();
    return {
      end,
      extent: { ...driver.extent, calls: callsOf(options.externalSystems ?? []) },
      faults: driver.faults,
      failing: [...(driver.process?.failed() ?? []), ...this.#hidden.list(driver.process?.failedKeys() ?? [])],
      lastError: driver.process?.lastError,
    };
  }

  async stop(): Promise<void> {
    const { driver, clock } = this.#parts;
    let hasStopped = false;
    const stopped = driver.stop().finally(() => (hasStopped = true));
    await clock.runUntil(() => hasStopped);
    await stopped;
  }

  async #end(): Promise<RunOutcome['end']> {
    const { options, server, clock, invariants } = this.#parts;
    const settle = (): Promise<void> => this.#settle();
    try {
      await options.scenario({ client: invariants.watching(server.client), clock, settle });
      await this.#settle();
      return { state: await this.#state() };
    } catch (error) {
      return { error };
    }
  }

  async #settle(): Promise<void> {
    const { clock, invariants, driver } = this.#parts;
    const untilMs = clock.monotonicMs() + maxSettleMs;
    for (let stepMs = 1; ; stepMs = Math.min(stepMs * 2, longestStepMs)) {
      const isAtRest = (await this.#isIdle()) && (await this.#hasCaughtUp());
      invariants.check();
      driver.check();
      if (isAtRest) return this.#noteFailures();
      if (clock.monotonicMs() >= untilMs) {
        throw new Error(
          `the controllers still had work after ${maxSettleMs / 60_000} minutes: ${this.#busyWith() ?? 'work that starts again repeatedly'}`,
        );
      }
      await clock.advance(stepMs);
    }
  }

  /**
   * Records the keys whose last run has failed. This is done only in the run without faults, because a fault may make a
   * key fail.
   */
  async #noteFailures(): Promise<void> {
    const { driver, plan } = this.#parts;
    if (plan !== noFaults) return;
    await this.#hidden.note(driver.process?.failedKeys() ?? [], (failed) => this.#exists(failed));
  }

  async #exists({ controller, run }: FailedRun): Promise<boolean> {
    const { server, options } = this.#parts;
    const { namespace, name } = parseKey(run.key);
    const model = definitionsOf(options).find((each) => each.name === controller)?.model;
    if (model === undefined) return false;
    const object = await server.client
      .get(model, name, namespace === undefined ? {} : { namespace })
      .catch(ignoreNotFound);
    return object !== undefined;
  }

  /** True when no work is left. The check first lets work under way continue for up to 60 turns of the event loop. */
  async #isIdle(): Promise<boolean> {
    let idle = 0;
    for (let turn = 0; turn < patientTurns && idle < idleTurns; turn += 1) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      idle = this.#isWorking() ? 0 : idle + 1;
    }
    return this.#busyWith() === undefined;
  }

  #isWorking(): boolean {
    const { server, driver } = this.#parts;
    const { process } = driver;
    return !server.isIdle() || process?.isIdle() === false || (process?.requests.underWay.length ?? 0) > 0;
  }

  #busyWith(): string | undefined {
    const { driver, clock } = this.#parts;
    if (this.#isWorking()) return 'there is work under way';
    if (driver.process === undefined) return 'the controllers are down';
    if (driver.process.requests.isHolding) return 'events are held back';
    const isRetrying = driver.isRecovering || driver.process.isRetryingParts(longestRetryMs);
    if (isRetrying) return 'a mapping, a source or a runnable has failed, and has not succeeded since';
    const retried = driver.process
      .retried()
      .find(({ state }) => (state.nextTime ?? Infinity) <= clock.now() + longestRetryMs);
    return retried === undefined ? undefined : describeFailing(retried);
  }

  async #hasCaughtUp(): Promise<boolean> {
    const { server, driver } = this.#parts;
    const caughtUp = await driver.process?.haveCachesCaughtUp(server.client);
    return caughtUp === true && this.#busyWith() === undefined;
  }

  async #state(): Promise<FinalState> {
    const { options, models, server } = this.#parts;
    const lists = await Promise.all(models.map((model) => listEverything(server.client, model, {})));
    const { generatedNames = false, normalise = (object) => object, externalSystems = [] } = options;
    return finalStateOf(
      lists.flatMap(({ items }) => items),
      { generatedNames, normalise, externalSystems },
    );
  }
}

function definitionsOf({ controllers }: Pick<ConvergenceOptions, 'controllers'>): readonly ControllerDefinition[] {
  return typeof controllers === 'function' ? controllers() : controllers;
}

/** Returns the models of the controllers, and the additional ones of the options. */
function modelsOf({ controllers, models = [] }: ConvergenceOptions): readonly ModelDescriptor[] {
  const definitions = definitionsOf({ controllers });
  const byKind = new Map<string, ModelDescriptor>();
  for (const model of [...models.map((each) => descriptorOf(each)), ...definitions.flatMap(followedModels)]) {
    const kind = kindIn({ ...model, apiVersion: apiVersionOf(model) });
    if (!byKind.has(kind)) byKind.set(kind, model);
  }
  return [...byKind.values()];
}

function describeFailing({ controller, state: { key, attempts, lastError } }: FailingKey): string {
  return `${controller} "${key}", ${attempts} failures: ${lastError ?? 'conflicts'}`;
}

/**
 * Finds keys whose failures ended only because the scenario deleted their objects. Each time the controllers become
 * idle, this class records the keys whose last run has failed, and removes the keys that have succeeded since.
 */
class HiddenFailures {
  readonly #failing = new Map<string, FailedRun>();

  /**
   * Records the failed keys, and forgets keys that no longer fail and whose object exists. Call it when the controllers
   * are idle. `exists` returns true when the object of a key exists.
   */
  async note(failing: readonly FailedRun[], exists: (failed: FailedRun) => Promise<boolean>): Promise<void> {
    const present = new Map(failing.map((each) => [idOf(each), each]));
    for (const [id, failed] of this.#failing) {
      if (!present.has(id) && (await exists(failed))) this.#failing.delete(id);
    }
    for (const [id, failed] of present) this.#failing.set(id, failed);
  }

  /** Returns the keys whose failure ended only because their object was deleted, a line each. */
  list(failing: readonly FailedRun[]): readonly string[] {
    const present = new Set(failing.map(idOf));
    return [...this.#failing]
      .filter(([id]) => !present.has(id))
      .map(([, failed]) => `${describeFailure(failed)}; then its object was deleted`);
  }
}

function idOf({ controller, run }: FailedRun): string {
  return `${controller} ${run.key}`;
}
