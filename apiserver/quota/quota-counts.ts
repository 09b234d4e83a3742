import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { ResourceQuotaObject } from '../builtin/resource-quota-kind.ts';
import { parseCount } from '../builtin/resource-quota-kind.ts';
import type { Entry } from '../index/entry.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import { decodeObject } from '../registry/object/object-codec.ts';

/** A parsed quota. */
export interface ReadQuota {
  readonly object: ResourceQuotaObject;
  /** The maximum counts by their keys, such as `count/persons.people.example.com`. */
  readonly hard: ReadonlyMap<string, number>;
}

const known = new WeakMap<Entry, ReadQuota>();

/** Returns the parsed quota of an entry; parses each entry once. */
export function readQuota(entry: Entry): ReadQuota {
  let quota = known.get(entry);
  if (quota === undefined) {
    const object = decodeObject<ResourceQuotaObject>(entry.bytes);
    const amounts = Object.entries(object.spec?.hard ?? {});
    quota = { object, hard: new Map(amounts.map(([key, amount]) => [key, parseCount(amount) ?? 0])) };
    known.set(entry, quota);
  }
  return quota;
}

/** Returns the key in a quota's `spec.hard` under which the maximum number of objects of a kind is set. */
export function countKey({ group, plural }: Pick<ModelDescriptor, 'group' | 'plural'>): string {
  return group === '' ? `count/${plural}` : `count/${plural}.${group}`;
}

/**
 * Prepares the index by which the objects of a kind are counted in each namespace. Returns undefined when the index is
 * ready.
 */
export function prepareCount({ storage }: Resource): Promise<void> | undefined {
  return storage.cache.index('metadata.namespace')?.prepareCondition({ absent: false, order: false });
}

/** Returns the number of objects of a kind in a namespace, including objects that cannot be read. */
export function countIn({ storage }: Resource, namespace: string): number {
  const values = storage.cache.index('metadata.namespace')?.values;
  const readable = values === undefined ? 0 : values.rankAfter(namespace) - values.rankOf(namespace);
  let broken = 0;
  for (const entry of storage.cache.broken.values()) if (entry.namespace === namespace) broken += 1;
  return readable + broken;
}

/** Returns the entries in memory of the objects that a kind has in a namespace, without objects that cannot be read. */
export function entriesIn({ storage }: Resource, namespace: string): readonly Entry[] {
  const values = storage.cache.index('metadata.namespace')?.values;
  if (values === undefined) return [];
  const found: Entry[] = [];
  values.forEach(values.rankOf(namespace), values.rankAfter(namespace), (entry) => {
    found.push(entry);
    return true;
  });
  return found;
}
