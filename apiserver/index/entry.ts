import type { OwnerReference } from '@homeostat/controller-runtime/api';
import { formatKey } from '@homeostat/controller-runtime/api';
import type { IndexValues, KnownOwner } from './index-values.ts';
import { policyOf } from './propagation.ts';
import type { PropagationPolicy } from './propagation.ts';
import { placeAlone } from './slabs.ts';
import type { Slabs } from './slabs.ts';
import { StoredEntry } from './stored-entry.ts';
import { writeRecord } from './write-record.ts';

/**
 * One stored object at one revision. It is never modified, only replaced: an array of entries is a consistent snapshot.
 */
export interface Entry {
  /** `name`, or `namespace/name`. */
  readonly key: string;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string | undefined;
  /** The revision of the object's last change; its resourceVersion. */
  readonly revision: number;
  /** The object as clients receive it. Each read makes a Buffer; it stays valid. */
  readonly bytes: Buffer;
  /** The number of {@link bytes}. */
  readonly size: number;
  readonly values: IndexValues;
  /** The owners in its ownerReferences; undefined when it has none. */
  readonly owners: readonly KnownOwner[] | undefined;
  /** What happens to its dependents once it is marked for deletion; undefined before. */
  readonly deletion: PropagationPolicy | undefined;
}

/** The parts of an entry that its object does not hold. */
export interface EntryParts {
  readonly revision: number;
  /** Best allocated last in `slabs`: then they are not copied. */
  readonly bytes: Buffer;
  /** From `KindCache.draft`. */
  readonly values: IndexValues;
  /** The memory of the kind. Default: memory of its own. */
  readonly slabs?: Pick<Slabs, 'placeBehind'>;
}

/** The part of an object that an entry is made of. */
export interface EntryObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly uid?: string | undefined;
    readonly ownerReferences?: readonly Pick<OwnerReference, 'uid' | 'blockOwnerDeletion'>[] | undefined;
    readonly deletionTimestamp?: string | undefined;
    readonly finalizers?: readonly string[] | undefined;
  };
}

const noOwners: readonly KnownOwner[] = [];

const alone = { placeBehind: placeAlone };

/** Writes the record of an object, and returns its entry. */
export function createEntry(
  { metadata }: EntryObject,
  { revision, bytes, values, slabs = alone }: EntryParts,
): StoredEntry {
  const { name, namespace, uid, ownerReferences = [], deletionTimestamp, finalizers } = metadata;
  return writeRecord(slabs, {
    key: namespace === undefined ? name : formatKey({ namespace, name }),
    name,
    namespace,
    uid,
    revision,
    bytes,
    values,
    owners: ownerReferences.length === 0 ? noOwners : ownerReferences.map(linkOf),
    deletion: deletionTimestamp === undefined ? undefined : policyOf(finalizers),
  });
}

/** An entry in the memory of a kind: the same one, if it is in memory already. */
export function entryIn(slabs: Pick<Slabs, 'placeBehind'>, entry: Entry): StoredEntry {
  return entry instanceof StoredEntry ? entry : writeRecord(slabs, entry);
}

/** The same, in memory of its own. */
export function entryAlone(entry: Entry): StoredEntry {
  return entryIn(alone, entry);
}

/** Returns the same entry with other bytes or another revision. */
export function entryWith(entry: Entry, changes: Partial<Pick<Entry, 'bytes' | 'revision'>>): Entry {
  const { key, name, namespace, uid, values, owners, deletion } = entry;
  const { bytes = entry.bytes, revision = entry.revision } = changes;
  return { key, name, namespace, uid, revision, bytes, size: bytes.length, values, owners, deletion };
}

/** Memory that an entry takes, in bytes. */
export function footprintOf(entry: Entry): number {
  return entry instanceof StoredEntry ? entry.footprint : entry.size;
}

function linkOf({ uid, blockOwnerDeletion = false }: Pick<OwnerReference, 'uid' | 'blockOwnerDeletion'>): KnownOwner {
  return { uid, blocks: blockOwnerDeletion };
}
