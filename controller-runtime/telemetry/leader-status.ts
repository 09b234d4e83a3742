import type { Metrics } from './metrics.ts';

/** `leader_election_master_status` of one lease: 0 until it is told that this process leads. */
export function createLeaderStatus(metrics: Metrics, lease: string): (isLeader: boolean) => void {
  const help = 'Whether this process holds the lease.';
  const status = metrics.gauge({ name: 'leader_election_master_status', help, labels: ['name'] }).of(lease);
  return (isLeader) => {
    status.value = isLeader ? 1 : 0;
  };
}
