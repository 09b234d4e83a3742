import type { Clock, Logger } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import type { ControllerDefinition } from '../controller/definition/controller-definition.ts';
import type { Duration } from '../controller/definition/parse-duration.ts';
import type { Reporter } from '../controller/report/reporter.ts';
import type { LeaderElectionOptions } from '../election/election-options.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Runnable } from './runnable.ts';

export interface ManagerOptions {
  /** The client of the controllers; in process or over HTTP. */
  readonly client: Client;
  readonly controllers?: readonly ControllerDefinition[];
  /** Long-running parts; those that need nothing start before the controllers, and stop after them. */
  readonly runnables?: readonly Runnable[];
  /**
   * Only one of the managers with the same lease runs its controllers, and their writes include its term: the server
   * refuses the writes of a former leader (409), even when it has not noticed yet. Default: no election.
   */
  readonly leaderElection?: LeaderElectionOptions;
  /** Default: the real time. */
  readonly clock?: Clock;
  /** Errors that it throws are dropped. Default: silent. */
  readonly logger?: Logger;
  /** Makes the reconcileID of each run. Default: random UUIDs. */
  readonly uuid?: () => string;
  /** Jitter of the election, in [0, 1). Default Math.random. */
  readonly random?: () => number;
  /**
   * The time that caches may take to sync before an error names them; the manager continues to wait. Default 2 minutes.
   */
  readonly cacheSyncTimeoutMs?: Duration;
  /** The time that a stop waits for running reconciles before it abandons them. Default 30 s. */
  readonly graceMs?: Duration;
  /** The metrics of the controllers. Default: metrics of this manager's own, which measure the process as well. */
  readonly metrics?: Metrics;
  /**
   * Reports the runs and the state of the controllers as objects, which commands and the console read. These objects
   * carry `name`, which no other manager of the server may have. `by` is a reporter that several managers share;
   * without it, the manager has its own, which writes with the client of the manager. Without `report`, nothing is
   * reported.
   */
  readonly report?: { readonly name: string; readonly by?: Reporter };
}
