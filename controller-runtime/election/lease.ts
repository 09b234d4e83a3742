import type { LeaseSpec } from '../kinds/kubernetes-kinds.ts';

/** Kubernetes' MicroTime: clients in Go require six digits. */
function formatMicroTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

export interface HolderState {
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly nowMs: number;
  /**
   * True when this process holds the lease already. Every other acquisition begins a new term, even under the same
   * identity: writes of an earlier process with that identity may still be under way.
   */
  readonly isRenewal: boolean;
  /** The scheme by which processes share the leases of a group. Absent for a single lease. */
  readonly strategy?: string | undefined;
}

/**
 * The spec that the holder writes when it takes the lease, and at each renewal. As in client-go, a change of holder
 * adds one transition.
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

/** Leaves out the other process's request for the lease, because the former holder has granted it. */
function withoutPreference({ preferredHolder: _, ...spec }: LeaseSpec = {}): LeaseSpec {
  return spec;
}

/**
 * The spec that a holder writes when it stops normally, as with client-go's ReleaseOnCancel, so that the next holder
 * need not wait.
 */
export function releasedSpec(previous: LeaseSpec | undefined, nowMs: number): LeaseSpec {
  const now = formatMicroTime(nowMs);
  return { ...previous, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
}
