import { checkName } from '../api/index.ts';
import { durationOption, type Duration } from '../controller/definition/parse-duration.ts';

/**
 * The options of a leader election. Several processes compete for a Lease (`coordination.k8s.io/v1`), and the leader is
 * the process that holds and renews the Lease.
 */
export interface LeaderElectionOptions {
  /** The name of the Lease, a DNS subdomain. All managers that use this Lease compete. */
  readonly name: string;
  /** The namespace of the Lease. The namespace must exist; the election creates the Lease. Default `default`. */
  readonly namespace?: string;
  /**
   * The identity of this process, stored in `spec.holderIdentity`. No other process may have this identity at the same
   * time. A later process with the same identity takes the lease at once, in a new term. Default: a random UUID.
   */
  readonly identity?: string;
  /**
   * While this process leads, another candidate takes the lease when it has seen no renewal for this time. The time
   * must be whole seconds, at most a day. Default 15 s.
   */
  readonly leaseDurationMs?: Duration;
  /**
   * The time without a renewal after which the leader gives up. It must be less than `leaseDurationMs`. Default 10 s.
   */
  readonly renewDeadlineMs?: Duration;
  /**
   * The time between two attempts to take or renew the lease. Waiting candidates add a random time of up to 1.2 times
   * this period. 1.2 times this period must be less than `renewDeadlineMs`. Default 2 s.
   */
  readonly retryPeriodMs?: Duration;
  /**
   * Called, for metrics: with `isLeader` false when the manager is made, with true when the process becomes the leader,
   * and with false when the process is no longer the leader. An error that the callback throws is logged.
   */
  readonly observe?: (status: { readonly name: string; readonly isLeader: boolean }) => void;
}

export interface ElectionSettings {
  readonly name: string;
  readonly namespace: string;
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
  readonly observe: NonNullable<LeaderElectionOptions['observe']>;
  /**
   * The `spec.strategy` of the leases of a sharded controller; it contains the number of shards, so that processes with
   * different numbers of shards detect each other. Absent for the lease of a leader election.
   */
  readonly strategy?: string;
}

/** The maximum length of an identity: the same as for an object's name. */
const maxIdentityLength = 253;

/** The jitter factor, as in client-go: a waiting candidate tries again after 1 to 2.2 retry periods. */
export const jitterFactor = 1.2;

/** The maximum duration of a lease. Kubernetes allows 68 years (an int32 of seconds); a day is long enough. */
const maxLeaseDurationMs = 86_400_000;

/**
 * Returns the options with all defaults. Throws RangeError for an invalid option; the error names the option.
 */
export function electionSettings(options: LeaderElectionOptions, uuid: () => string): ElectionSettings {
  const { name, namespace = 'default', identity = uuid(), observe = () => {} } = options;
  const leaseDurationMs = durationOption('leaderElection.leaseDurationMs', options.leaseDurationMs ?? '15s');
  const renewDeadlineMs = durationOption('leaderElection.renewDeadlineMs', options.renewDeadlineMs ?? '10s');
  const retryPeriodMs = durationOption('leaderElection.retryPeriodMs', options.retryPeriodMs ?? '2s');
  check(checkName(name, 'subdomain').length === 0, `name: ${JSON.stringify(name)} is not a DNS subdomain`);
  check(checkName(namespace, 'label').length === 0, `namespace: ${JSON.stringify(namespace)} is not a DNS label`);
  check(
    identity !== '' && identity.length <= maxIdentityLength,
    `identity: must have 1 to ${maxIdentityLength} characters`,
  );
  const isWhole = leaseDurationMs >= 1000 && leaseDurationMs <= maxLeaseDurationMs && leaseDurationMs % 1000 === 0;
  check(isWhole, `leaseDurationMs: must be whole seconds, from one to a day, not ${leaseDurationMs} ms`);
  check(retryPeriodMs > 0, 'retryPeriodMs: must be above 0');
  check(
    renewDeadlineMs > jitterFactor * retryPeriodMs,
    `renewDeadlineMs: must be more than ${jitterFactor} times retryPeriodMs (${retryPeriodMs} ms), not ${renewDeadlineMs} ms`,
  );
  check(
    leaseDurationMs > renewDeadlineMs,
    `leaseDurationMs: must be more than renewDeadlineMs (${renewDeadlineMs} ms), not ${leaseDurationMs} ms`,
  );
  return { name, namespace, identity, leaseDurationMs, renewDeadlineMs, retryPeriodMs, observe };
}

function check(isRight: boolean, problem: string): void {
  if (!isRight) throw new RangeError(`leaderElection.${problem}`);
}
