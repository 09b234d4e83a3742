import type { ApiObject, Model, ModelDescriptor } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { ControllerDefinition } from '../../controller/definition/controller-definition.ts';
import type { Runnable } from '../../manager/runnable.ts';
import type { ExternalSystem } from '../fakes/external-system.ts';
import type { FakeClock } from '../fakes/fake-clock.ts';

/** The argument of a scenario. */
export interface ScenarioContext {
  /** A client without faults, because the scenario plays the users, who are not under test. */
  readonly client: Client;
  readonly clock: FakeClock;
  /**
   * Waits until the controllers have nothing to do. The clock advances while the controllers wait, for example for the
   * restart of a process, the reconnect of a watch or a retry. Between two calls of `settle`, controllers may see
   * changes late, or only the last of several changes to an object. Rejects when the controllers still have work after
   * ten minutes of the clock, when an invariant is broken, or when a run did not await a request.
   */
  settle(this: void): Promise<void>;
}

/** The argument of {@link ConvergenceOptions.runnables}, a function that returns the runnables under test. */
export interface RunnableParts {
  /** The client of the runnables. Faults are injected into its requests. */
  readonly client: Client;
  readonly clock: FakeClock;
}

export interface ConvergenceOptions {
  /**
   * The controllers under test, or a function that makes them. The function is called for each process, so that a crash
   * loses what the controllers keep in memory, as a real crash does. It is also called to find the controllers' kinds.
   */
  readonly controllers: readonly ControllerDefinition[] | (() => readonly ControllerDefinition[]);
  /**
   * Returns long-running parts of the process, in addition to the controllers. It is called for each process. Faults
   * are injected into the requests of the given client. Default none.
   */
  readonly runnables?: (this: void, parts: RunnableParts) => readonly Runnable[];
  /**
   * The kinds that are served in addition to those of the controllers. The final states of all kinds are compared.
   * Default none.
   */
  readonly models?: readonly Model[];
  /**
   * Plays the actions of users. The function is called hundreds of times, so it must keep no state, and assert nothing
   * that faults can delay.
   */
  scenario(this: void, context: ScenarioContext): Promise<void>;
  /**
   * Called before each run of the scenario, with the clock of that run, to reset state that the runs share, such as a
   * fake of an external system.
   */
  beforeRun?(this: void, run: Pick<ScenarioContext, 'clock'>): void | Promise<void>;
  /**
   * Fakes of external systems. At the start of each run of the scenario, the checker resets the fakes, and gives them
   * the clock of that run. At the end of the run, the checker compares the states of the fakes with their states after
   * the run without faults. Each call that was made in the run without faults fails in one later run, and its response
   * is lost in another. If there were more than a hundred calls, only a hundred of them, evenly spread, get these
   * faults. Default none.
   */
  readonly externalSystems?: readonly ExternalSystem[];
  /**
   * The number of runs with random faults, or the seeds of these runs. The same seed results in the same faults.
   * Default 100.
   */
  readonly seeds?: number | readonly number[];
  /**
   * The invariants, by name. They are checked after each write that the server has executed, including the writes of
   * the scenario, with a client without faults. An invariant that throws or rejects is broken. Default none.
   */
  readonly invariants?: Readonly<Record<string, (client: Client) => unknown>>;
  /**
   * True to compare objects named by generateName in the order of their content instead of their names. Default false.
   */
  readonly generatedNames?: boolean;
  /**
   * Returns the part of an object that is compared; undefined leaves the object out. Default: the whole object. The
   * comparison always leaves out uid, version, resourceVersion, generation and managedFields of the metadata. All
   * points in time count as equal. For `observedGeneration`, only its difference to `generation` is compared.
   */
  normalise?(this: void, object: ApiObject): ApiObject | undefined;
}

/** A server on which the convergence check executes its scenario once. */
export interface ConvergenceServer {
  /** The client of the scenario. */
  readonly client: Client;
  /** The client that sends the controllers' requests. */
  readonly controllerClient: Client;
  /** True when no work is under way in the server. */
  isIdle(): boolean;
  stop(): Promise<void>;
}

/** The parameters of a server on which the convergence check executes its scenario once. */
export interface ServerParts {
  readonly clock: FakeClock;
  readonly random: () => number;
  readonly uuid: () => string;
  /** The models to serve. The server must serve them when the promise of {@link StartServer} resolves. */
  readonly models: readonly ModelDescriptor[];
}

export type StartServer = (parts: ServerParts) => Promise<ConvergenceServer>;

/** The report of a check, to print or to use in assertions. */
export interface ConvergenceReport {
  /** The number of runs, including the one without faults. */
  readonly runs: number;
  /** The number of injected faults. */
  readonly faults: number;
}
