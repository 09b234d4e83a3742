import type { ApiObject, Model, ModelDescriptor } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { ControllerDefinition } from '../../controller/definition/controller-definition.ts';
import type { Runnable } from '../../manager/runnable.ts';
import type { FakeClock } from '../fakes/fake-clock.ts';

/** The tools of a scenario. */
export interface ScenarioContext {
  /** Meets no faults: users are not what is tested. */
  readonly client: Client;
  readonly clock: FakeClock;
  /**
   * Waits until the controllers have come to rest, with time of the clock passing where faults make them wait: processes
   * come back, watches reconnect, what failed is tried again. What happens between two of these may be seen late, or only
   * in its outcome. Rejects when there is no rest within ten minutes of the clock.
   */
  settle(this: void): Promise<void>;
}

/** The arguments for making runnables under test. */
export interface RunnableParts {
  /** Meets faults. */
  readonly client: Client;
  readonly clock: FakeClock;
}

export interface ConvergenceOptions {
  /**
   * The controllers under test. A function makes new ones for each process, and once more to learn their kinds, so that a
   * crash loses what controllers keep in memory, as a real one does.
   */
  readonly controllers: readonly ControllerDefinition[] | (() => readonly ControllerDefinition[]);
  /**
   * Long-living parts of the process, beside the controllers. Called for each process; what they do with this client
   * meets faults. Default none.
   */
  readonly runnables?: (this: void, parts: RunnableParts) => readonly Runnable[];
  /** Kinds that are served besides those of the controllers. All of them are compared. Default none. */
  readonly models?: readonly Model[];
  /** The actions of users. It may be run hundreds of times, so it keeps nothing, and asserts nothing that faults may delay. */
  scenario(this: void, context: ScenarioContext): Promise<void>;
  /** Called before each run, on the clock of that run: resets what the runs share, such as a fake of an external system. */
  beforeRun?(this: void, run: Pick<ScenarioContext, 'clock'>): void | Promise<void>;
  /** The number of runs with drawn faults, or their seeds; the same seed draws the same faults. Default 100. */
  readonly seeds?: number | readonly number[];
  /**
   * The invariants, by name: asked after each write, the scenario's included, with a client that meets no
   * faults. It is broken when it throws or rejects. Default nothing.
   */
  readonly invariants?: Readonly<Record<string, (client: Client) => unknown>>;
  /** Objects named by generateName are compared in the order of their content, whatever their names. Default false. */
  readonly generatedNames?: boolean;
  /**
   * Returns the compared part of an object; undefined leaves it out. Without it: everything but uid, version, resourceVersion,
   * generation and managedFields; points in time count as equal, `observedGeneration` as how far it is behind.
   */
  normalise?(this: void, object: ApiObject): ApiObject | undefined;
}

/** A server for one run. */
export interface ConvergenceServer {
  /** The scenario's. */
  readonly client: Client;
  /** The client that carries out the controllers' requests. */
  readonly controllerClient: Client;
  /** Nothing is under way in the server. */
  isIdle(): boolean;
  stop(): Promise<void>;
}

/** The clock and the randomness of a server. */
export interface ServerParts {
  readonly clock: FakeClock;
  readonly random: () => number;
  readonly uuid: () => string;
  /** To be served when the promise resolves. */
  readonly models: readonly ModelDescriptor[];
}

export type StartServer = (parts: ServerParts) => Promise<ConvergenceServer>;

/** A report of the run, to be printed or asserted on. */
export interface ConvergenceReport {
  /** The one without faults included. */
  readonly runs: number;
  /** The number of injected faults. */
  readonly faults: number;
}
