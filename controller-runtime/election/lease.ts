import type { LeaseSpec } from '../kinds/kubernetes-kinds.ts';

/** Returns a time as Kubernetes' MicroTime, with six decimals of the seconds, which clients in Go require. */
function formatMicroTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

export interface HolderState {
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly nowMs: number;
  /**
   * True when this process holds the lease already. If false, a new term begins, even under the same identity: writes
   * of an earlier process with that identity may still be under way.
   */
  readonly isRenewal: boolean;
  /**
   * The `spec.strategy` of the leases of a sharded controller; it contains the number of shards. Absent for the lease
   * of a leader election.
   */
  readonly strategy?: string | undefined;
}

/**
 * Returns the spec that the holder writes when it takes the lease, and at each renewal. As in client-go, a change of
 * the holder increases `leaseTransitions` by one. Unlike in client-go, a new term under the same identity does, too.
 */
export function heldSpec(previous: LeaseSpec | undefined, state: HolderState): LeaseSpec {
  const { identity, leaseDurationMs, nowMs, isRenewal, strategy } = state;
  const now = formatMicroTime(nowMs);
  const transitions = previous?.leaseTransitions ?? 0;
  return {
    ...(strategy === undefined || isRenewal ? previous : withoutPreference(previous)),
    ...(strategy === undefined ? {} : { strategy }),
    holderIdentity: identity,
    leaseDurationSeconds: leaseDurationMs / 1000,
    acquireTime: isRenewal ? (previous?.acquireTime ?? now) : now,
    renewTime: now,
    leaseTransitions: previous === undefined || isRenewal ? transitions : transitions + 1,
  };
}

/**
 * Returns the spec without `preferredHolder`, the field by which a process requests the lease. The request ends when
 * any process takes the lease.
 */
function withoutPreference({ preferredHolder: _, ...spec }: LeaseSpec = {}): LeaseSpec {
  return spec;
}

/**
 * Returns the spec that a holder writes when it stops normally, so that the next holder need not wait. client-go writes
 * the same spec with ReleaseOnCancel.
 */
export function releasedSpec(previous: LeaseSpec | undefined, nowMs: number): LeaseSpec {
  const now = formatMicroTime(nowMs);
  return { ...previous, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
}
