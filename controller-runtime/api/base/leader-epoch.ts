/**
 * The term of a leader: its Lease (`coordination.k8s.io/v1`), and the number in this Lease that each later term
 * increases by one. No two leaders of the same Lease have the same term.
 */
export interface LeaderEpoch {
  readonly namespace: string;
  /** metadata.name of the Lease. */
  readonly name: string;
  /** metadata.uid of the Lease. A Lease that was deleted and created again has a different uid. */
  readonly uid: string;
  /**
   * The field spec.leaseTransitions of the Lease. Each later term increases it by one, even a new term of the same
   * holder; a renewal does not.
   */
  readonly transitions: number;
}

/** The name of the request header that contains the term of the leader that writes. */
export const leaderHeader = 'homeostat-leader';

// The pattern allows the longest namespace, name, UUID and safe integer. A longer text is not a valid term.
const pattern = /^([a-z0-9-]{1,63})\/([a-z0-9.-]{1,253})\/([0-9a-f-]{1,36})\/(0|[1-9]\d{0,15})$/;

/** Returns the term as the text `<namespace>/<name>/<uid>/<transitions>`. */
export function formatLeaderEpoch({ namespace, name, uid, transitions }: LeaderEpoch): string {
  return `${namespace}/${name}/${uid}/${transitions}`;
}

/** Reads the term from a text; undefined when the text has another format. */
export function parseLeaderEpoch(text: string): LeaderEpoch | undefined {
  const [, namespace, name, uid, transitions] = pattern.exec(text) ?? [];
  if (namespace === undefined || name === undefined || uid === undefined) return undefined;
  return Number.isSafeInteger(Number(transitions))
    ? { namespace, name, uid, transitions: Number(transitions) }
    : undefined;
}
