import { checkName } from '../api/index.ts';
import { parseDuration, type Duration } from '../controller/definition/parse-duration.ts';

/**
 * The election of one of several processes by a Lease (`coordination.k8s.io/v1`), which the leader holds and keeps
 * renewing.
 */
export interface LeaderElectionOptions {
  /** Name of the Lease; all managers with the same name compete. A DNS subdomain. */
  readonly name: string;
  /** Namespace of the Lease; it must exist. Default `default`. */
  readonly namespace?: string;
  /**
   * The identity of this process, stored in `spec.holderIdentity`. No other process may have it at the same time. A later process that has it
   * again takes the lease at once, in a new term. Default a random UUID.
   */
  readonly identity?: string;
  /**
   * The time that candidates wait after the last renewal that they saw, before they take the lease. Whole seconds.
   * Default 15 s.
   */
  readonly leaseDurationMs?: Duration;
  /** The leader gives up after this time without a renewal; less than the lease's duration. Default 10 s. */
  readonly renewDeadlineMs?: Duration;
  /**
   * The time between two attempts to take or renew the lease. Waiting candidates add a random time of up to 1.2 retry
   * periods. 1.2 retry periods must be less than `renewDeadlineMs`. Default 2 s.
   */
  readonly retryPeriodMs?: Duration;
  /**
   * Called when this process becomes the leader, and when it stops being the leader; for metrics. Errors that it throws
   * are logged.
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
   * The scheme by which processes share the leases of a group, such as the number of shards. Absent for a single lease.
   */
  readonly strategy?: string;
}

/** The longest name of an object. */
const maxIdentityLength = 253;

/** client-go's factor: a waiting candidate tries again after 1 to 2.2 retry periods. */
export const jitterFactor = 1.2;

/** Kubernetes allows an int32 of seconds, which is 68 years; a day is long enough. */
const maxLeaseDurationMs = 86_400_000;

/** Fills in the defaults. Throws RangeError that names the option. */
export function electionSettings(options: LeaderElectionOptions, uuid: () => string): ElectionSettings {
  const { name, namespace = 'default', identity = uuid(), observe = () => {} } = options;
  const leaseDurationMs = parseDuration(options.leaseDurationMs ?? '15s');
  const renewDeadlineMs = parseDuration(options.renewDeadlineMs ?? '10s');
  const retryPeriodMs = parseDuration(options.retryPeriodMs ?? '2s');
  check(checkName(name, 'subdomain').length === 0, `name: ${JSON.stringify(name)} is no DNS subdomain`);
  check(checkName(namespace, 'label').length === 0, `namespace: ${JSON.stringify(namespace)} is no DNS label`);
  check(
    identity !== '' && identity.length <= maxIdentityLength,
    `identity: must have 1 to ${maxIdentityLength} characters`,
  );
  const isWhole = leaseDurationMs >= 1000 && leaseDurationMs <= maxLeaseDurationMs && leaseDurationMs % 1000 === 0;
  check(isWhole, `leaseDurationMs: must be whole seconds, from one to a day, not ${leaseDurationMs} ms`);
  check(retryPeriodMs > 0, 'retryPeriodMs: must be above 0');
  check(
    renewDeadlineMs > jitterFactor * retryPeriodMs,
    `renewDeadlineMs: must be more than ${jitterFactor} times retryPeriodMs, ${retryPeriodMs} ms, not ${renewDeadlineMs} ms`,
  );
  check(
    leaseDurationMs > renewDeadlineMs,
    `leaseDurationMs: must be more than renewDeadlineMs, ${renewDeadlineMs} ms, not ${leaseDurationMs} ms`,
  );
  return { name, namespace, identity, leaseDurationMs, renewDeadlineMs, retryPeriodMs, observe };
}

function check(isRight: boolean, problem: string): void {
  if (!isRight) throw new RangeError(`leaderElection.${problem}`);
}
