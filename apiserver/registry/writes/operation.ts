import type { LeaderEpoch } from '@homeostat/controller-runtime/api';
import { formatKey, keyOf } from '@homeostat/controller-runtime/api';
import type { Operation, Outcome, RequiredClaim } from '../../store/store.ts';
import type { PreparedWrite } from './prepare-write.ts';
import type { Resource } from '../kinds/resource.ts';
import { duplicateValue } from '../object/resource-errors.ts';

/** The key of the lock that every change of this object holds. */
export function lockOf(resource: Resource, key: string): string {
  return resource.keyPrefix + key;
}

/** The commit that makes a decision durable. */
export function operationOf(
  resource: Resource,
  write: PreparedWrite,
  leaderClaim: (leader: LeaderEpoch) => RequiredClaim,
): Operation {
  const unique = resource.claimChanges(write.stored?.values, write.op === 'delete' ? undefined : write.values);
  return {
    op: write.op,
    key: resource.keyPrefix + formatKey(keyOf(write.object)),
    kind: resource.kindNumber,
    data: write.data,
    ...(write.stored === undefined ? {} : { expect: write.stored.revision }),
    ...(unique === undefined ? {} : { unique }),
    ...(resource.generation === undefined ? {} : { generation: resource.generation }),
    ...requiredBy(write, leaderClaim),
  };
}

function requiredBy(
  { requires, leader }: Pick<PreparedWrite, 'requires' | 'leader'>,
  leaderClaim: (leader: LeaderEpoch) => RequiredClaim,
): Pick<Operation, 'requires'> {
  if (leader !== undefined) return { requires: [...requires, leaderClaim(leader)] };
  return requires.length === 0 ? {} : { requires };
}

/** A conflict that requires a new decision. */
export type Refusal = 'exists' | 'revision' | 'notFound' | 'generation' | 'requires';

/** A conflict that the caller decides again; a lost unique claim (422) is final. */
export function refusalOf(resource: Resource, { object }: Pick<PreparedWrite, 'object'>, outcome: Outcome): Refusal {
  if (!('conflict' in outcome)) throw new Error('a commit succeeded, but was not applied');
  const { name } = object.metadata;
  if (outcome.conflict !== 'unique') return outcome.conflict;
  throw duplicateValue(resource.model, name, {
    index: resource.indexName(outcome.claim[0]),
    value: outcome.claim[1],
    holder: outcome.holder.slice(resource.keyPrefix.length),
  });
}
