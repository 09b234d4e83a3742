import type { ApiObject, Model, ModelDescriptor } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { ControllerDefinition } from '../../controller/definition/controller-definition.ts';
import type { Runnable } from '../../manager/runnable.ts';
import type { ExternalSystem } from '../fakes/external-system.ts';
import type { FakeClock } from '../fakes/fake-clock.ts';

/** The tools of a scenario. */
export interface ScenarioContext {
  /** A client without faults, because users are not under test. */
  readonly client: Client;
  readonly clock: FakeClock;
  /**
   * Waits until the controllers have nothing to do. The clock advances where faults make them wait: processes restart,
   * watches reconnect, failed requests are retried. Changes between two of these calls may reach controllers late, or
   * only with their final result. Rejects when they still work after ten minutes of the clock.
   */
  settle(this: void): Promise<void>;
}

/** The arguments for making runnables under test. */
export interface RunnableParts {
  /** The client under test, whose requests have faults. */
  readonly client: Client;
  readonly clock: FakeClock;
}

export interface ConvergenceOptions {
  /**
   * The controllers under test, or a function that makes them. The function is called for each process, so that a crash
   * loses what the controllers keep in memory, as a real crash does. It is called once more to find the controllers'
   * kinds.
   */
  readonly controllers: readonly ControllerDefinition[] | (() => readonly ControllerDefinition[]);
  /**
   * Long-running parts of the process, beside the controllers. Called for each process; the requests of this client
   * have faults. Default none.
   */
  readonly runnables?: (this: void, parts: RunnableParts) => readonly Runnable[];
  /** Kinds that are served in addition to those of the controllers. All of them are compared. Default none. */
  readonly models?: readonly Model[];
  /**
   * The actions of users. It runs hundreds of times, so it must keep no state, and assert nothing that faults can
   * delay.
   */
  scenario(this: void, context: ScenarioContext): Promise<void>;
  /**
   * Called before each run, with the clock of that run, to reset what the runs share, such as a fake of an external
   * system.
   */
  beforeRun?(this: void, run: Pick<ScenarioContext, 'clock'>): void | Promise<void>;
  /**
   * Fakes of external systems. Each run resets them, with its clock, and their final states are compared. Each call
   * that the run without faults makes is tested once with a failure, and once with a lost response. Default none.
   */
  readonly externalSystems?: readonly ExternalSystem[];
  /** The number of runs with drawn faults, or their seeds; the same seed draws the same faults. Default 100. */
  readonly seeds?: number | readonly number[];
  /**
   * The invariants, by name: checked after each write, including those of the scenario, with a client without faults.
   * An invariant that throws or rejects is broken. Default none.
   */
  readonly invariants?: Readonly<Record<string, (client: Client) => unknown>>;
  /**
   * True to compare objects named by generateName in the order of their content instead of their names. Default false.
   */
  readonly generatedNames?: boolean;
  /**
   * Returns the compared part of an object; undefined leaves it out. Without it: everything but uid, version, resourceVersion,
   * generation and managedFields; points in time count as equal, and `observedGeneration` is compared by how far it
   * lags behind.
   */
  normalise?(this: void, object: ApiObject): ApiObject | undefined;
}

/** A server for one run. */
export interface ConvergenceServer {
  /** The client of the scenario. */
  readonly client: Client;
  /** The client that executes the controllers' requests. */
  readonly controllerClient: Client;
  /** True when nothing is under way in the server. */
  isIdle(): boolean;
  stop(): Promise<void>;
}

/** The clock and the randomness of a server. */
export interface ServerParts {
  readonly clock: FakeClock;
  readonly random: () => number;
  readonly uuid: () => string;
  /** The models to serve; they must be served when the promise resolves. */
  readonly models: readonly ModelDescriptor[];
}

export type StartServer = (parts: ServerParts) => Promise<ConvergenceServer>;

/** A report of the run, to be printed or asserted on. */
export interface ConvergenceReport {
  /** The number of runs, including the one without faults. */
  readonly runs: number;
  /** The number of injected faults. */
  readonly faults: number;
}
