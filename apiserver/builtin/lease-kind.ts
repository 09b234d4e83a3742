import { defineModel, formatKey, IndexSpec } from '@homeostat/controller-runtime/api';
import type { ApiObject, LeaderEpoch, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { LeaderRules } from '../registry/writes/registry-parts.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { notReady } from '../registry/kinds/resource.ts';
import type { Resource } from '../registry/kinds/resource.ts';

const time = { type: 'string', format: 'date-time', nullable: true } as const;

const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        holderIdentity: { type: 'string', description: 'The holder of the lease; empty when the lease has no holder.' },
        leaseDurationSeconds: {
          type: 'integer',
          minimum: 1,
          description: 'The seconds after renewTime that other candidates wait before they take the lease.',
        },
        acquireTime: time,
        renewTime: time,
        leaseTransitions: {
          type: 'integer',
          minimum: 0,
          description: 'The number of times that the holder has changed.',
        },
        strategy: { type: 'string' },
        preferredHolder: { type: 'string' },
      },
    },
  },
} as const;

/** The name of the index of leases by their terms. A selector on this index finds the lease of a term. */
const termIndex = 'term';

interface Lease extends ApiObject {
  readonly spec?: { readonly holderIdentity?: string; readonly leaseTransitions?: number };
}

/**
 * The unique index of terms. A lease with a holder claims its term, which consists of the lease's uid and its number of
 * transitions. A commit removes the claim when it gives the lease to another holder (and increases the number of
 * transitions, as leader election does), or when it releases or deletes the lease. Commits of the former leader require
 * the claim, so they are refused from then on.
 */
const termOfLease = new IndexSpec<Lease>({
  name: termIndex,
  unique: true,
  indexFunc: {
    multiValued: false,
    valuesOf: ({ metadata: { uid }, spec: { holderIdentity = '', leaseTransitions = 0 } = {} }) =>
      uid === undefined || holderIdentity === '' ? [] : [termOf({ uid, transitions: leaseTransitions })],
  },
});

function termOf({ uid, transitions }: Pick<LeaderEpoch, 'uid' | 'transitions'>): string {
  return `${uid}/${transitions}`;
}

/** `coordination.k8s.io/v1 Lease`, which Kubernetes' clients write for leader election. */
export const leaseKind: ModelDescriptor = defineModel({
  gvk: 'coordination.k8s.io/v1/Lease',
  plural: 'leases',
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  printerColumns: [
    { name: 'Holder', type: 'string', jsonPath: '.spec.holderIdentity', description: 'The holder of the lease.' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  schema,
  indexes: [termOfLease],
});

/**
 * Returns two functions. `claimOf` returns the entry of a leader's term in the index of terms. The entry exists only
 * during this term, and the store refuses the leader's writes when the entry does not exist. `isLeading` returns true
 * while the leader holds its lease. Both throw ApiError ServiceUnavailable while the server does not serve leases yet.
 */
export function leaderRules(table: ResourceTable): LeaderRules {
  const served = (): Resource => {
    const leases = table.get(leaseKind);
    if (leases === undefined) throw notReady(leaseKind);
    return leases;
  };
  return {
    claimOf: (leader) => served().requiredClaim({ index: termIndex, value: termOf(leader) }),
    isLeading: (leader) => {
      const { cache } = served();
      const terms = cache.get(formatKey(leader))?.values[cache.index(termIndex)?.position ?? -1];
      return terms?.includes(termOf(leader)) === true;
    },
  };
}
