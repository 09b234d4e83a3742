/**
 * A term of office: which Lease (`coordination.k8s.io/v1`) a leader holds, and how often that had changed hands. Two leaders
 * of one lease never have the same.
 */
export interface LeaderEpoch {
  readonly namespace: string;
  /** metadata.name of the Lease. */
  readonly name: string;
  /** metadata.uid of the Lease: a Lease that was deleted and created again is another one. */
  readonly uid: string;
  /** spec.leaseTransitions. */
  readonly transitions: number;
}

/** The request header that a leader's writes carry. */
export const leaderHeader = 'homeostat-leader';

// The longest namespace, name, UUID and safe integer: what is longer is none.
const pattern = /^([a-z0-9-]{1,63})\/([a-z0-9.-]{1,253})\/([0-9a-f-]{1,36})\/(0|[1-9]\d{0,15})$/;

/** `<namespace>/<name>/<uid>/<transitions>`. */
export function formatLeaderEpoch({ namespace, name, uid, transitions }: LeaderEpoch): string {
  return `${namespace}/${name}/${uid}/${transitions}`;
}

/** undefined for a text that is none. */
export function parseLeaderEpoch(text: string): LeaderEpoch | undefined {
  const [, namespace, name, uid, transitions] = pattern.exec(text) ?? [];
  if (namespace === undefined || name === undefined || uid === undefined) return undefined;
  return Number.isSafeInteger(Number(transitions))
    ? { namespace, name, uid, transitions: Number(transitions) }
    : undefined;
}
