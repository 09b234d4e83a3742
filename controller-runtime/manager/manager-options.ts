import type { Clock, Logger } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import type { ControllerDefinition } from '../controller/definition/controller-definition.ts';
import type { Duration } from '../controller/definition/parse-duration.ts';
import type { Reporter } from '../controller/report/reporter.ts';
import type { LeaderElectionOptions } from '../election/election-options.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Runnable } from './runnable.ts';

export interface ManagerOptions {
  /** The client of the controllers, either in process or over HTTP. */
  readonly client: Client;
  readonly controllers?: readonly ControllerDefinition[];
  /**
   * Long-running parts of the program. Those with `needs: 'nothing'` start before the controllers, and stop after them.
   */
  readonly runnables?: readonly Runnable[];
  /**
   * The options of the leader election. Only one of the managers with the same lease runs its controllers, and their
   * writes include the term. Sharded controllers are an exception: each manager runs them for some of the shards, and
   * each shard has a lease of its own. The server refuses the writes of a former leader (409), even when that process
   * does not know yet that its term is over. Default: no election.
   */
  readonly leaderElection?: LeaderElectionOptions;
  /** The clock. Default: the system clock. */
  readonly clock?: Clock;
  /** The logger. Errors that it throws are ignored. Default: a logger that writes nothing. */
  readonly logger?: Logger;
  /**
   * Returns a new id at each call: for runs, events, external effects, and the identity in the election. Default:
   * random UUIDs.
   */
  readonly uuid?: () => string;
  /** Returns a random number in [0, 1) for the jitter of the election. Default Math.random. */
  readonly random?: () => number;
  /**
   * After this time, an error is logged that names the caches that are not synced. A controller continues to wait for
   * its own caches. The election, and runnables that need the caches, no longer wait. Default 2 minutes.
   */
  readonly cacheSyncTimeoutMs?: Duration;
  /** The grace period: the time for which a stop waits for runs under way before it abandons them. Default 30 s. */
  readonly graceMs?: Duration;
  /** The metrics of the controllers. Default: the manager's own metrics, which also measure the process. */
  readonly metrics?: Metrics;
  /**
   * If given, the runs and the states of the controllers are reported as objects, which commands and the console read.
   * In these objects, each controller is named `<name>/<controller>`. Only managers that take part in the same election
   * may have the same `name` on a server. `by` is a reporter that several managers share. Without `by`, the manager has
   * a reporter of its own, which writes with the client of the manager.
   */
  readonly report?: { readonly name: string; readonly by?: Reporter };
}
