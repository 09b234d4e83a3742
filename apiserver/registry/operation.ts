import type { ApiObject } from '@homeostat/controller-runtime/api';
import { formatKey, keyOf } from '@homeostat/controller-runtime/api';
import type { Entry } from '../index/entry.ts';
import type { Operation, Outcome } from '../store/store.ts';
import type { Resource } from './resource.ts';
import { duplicateValue } from './resource-errors.ts';

/** Whoever changes this object holds this key's lock. */
export function lockOf(resource: Resource, key: string): string {
  return resource.keyPrefix + key;
}

interface Prepared {
  readonly op: Operation['op'];
  readonly object: ApiObject;
  readonly stored?: Entry;
  readonly data: Buffer;
  readonly values: Entry['values'];
}

/** The commit that makes a decision durable. */
export function operationOf(resource: Resource, write: Prepared): Operation {
  const unique = resource.claimChanges(write.stored?.values, write.op === 'delete' ? undefined : write.values);
  return {
    op: write.op,
    key: resource.keyPrefix + formatKey(keyOf(write.object)),
    kind: resource.kindNumber,
    data: write.data,
    ...(write.stored === undefined ? {} : { expect: write.stored.revision }),
    ...(unique === undefined ? {} : { unique }),
    ...(resource.generation === undefined ? {} : { generation: resource.generation }),
  };
}

/** A conflict that is decided anew. */
export type Refusal = 'exists' | 'revision' | 'notFound' | 'generation';

/** A conflict that the caller decides anew; a lost unique claim is final (422). */
export function refusalOf(resource: Resource, object: ApiObject, outcome: Outcome): Refusal {
  if (!('conflict' in outcome)) throw new Error('a commit succeeded, but was not applied');
  if (outcome.conflict !== 'unique') return outcome.conflict;
  throw duplicateValue(resource.model, object.metadata.name, {
    index: resource.indexName(outcome.claim[0]),
    value: outcome.claim[1],
    holder: outcome.holder.slice(resource.keyPrefix.length),
  });
}
