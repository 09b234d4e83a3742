import { apiVersionOf, isApiError } from '@homeostat/controller-runtime/api';
import { createEntry } from '../index/entry.ts';
import type { Entry } from '../index/entry.ts';
import { IndexValueError } from '../index/index-value-error.ts';
import type { KindCache } from '../index/kind-cache.ts';
import type { Row } from '../store/store.ts';
import { decodeObject, inVersion, withRevision } from './object-codec.ts';
import type { Allocate } from './object-codec.ts';
import type { Upgrade } from './upgrade.ts';

type StoredState = Pick<Row, 'data' | 'revision'>;

/** What of a kind is needed to read what is stored. */
export interface StoredKind {
  readonly cache: KindCache;
  readonly upgrade: Upgrade;
}

/**
 * A stored object as memory holds it. Throws IndexValueError, with the object's name, where an index cannot read it, and
 * ApiError where it is stored in another version and cannot be converted.
 */
export function storedEntry(
  { cache, upgrade }: StoredKind,
  { data, revision }: StoredState,
  allocate?: Allocate,
): Entry {
  const served = upgrade(data, revision);
  // Memory for many was measured by what is stored.
  const bytes = withRevision(served, revision, served === data ? allocate : undefined);
  const object = decodeObject(bytes);
  return createEntry(object, { bytes, revision, values: cache.draft(object) });
}

/**
 * The same for an object that has to be taken as it is: a past state, or one that another process wrote. Where an index
 * of today cannot read it, it has no values, and where it cannot be converted, its fields stay; that must not keep
 * anything else from going on.
 */
export function lenientEntry(kind: StoredKind, { data, revision }: StoredState): Entry {
  try {
    return storedEntry(kind, { data, revision });
  } catch (error) {
    if (!(error instanceof IndexValueError) && !isApiError(error)) throw error;
    const { cache } = kind;
    const bytes = withRevision(asItIs(kind, { data, revision }), revision);
    return createEntry(decodeObject(bytes), { bytes, revision, values: cache.indexes.map(() => []) });
  }
}

function asItIs({ cache, upgrade }: StoredKind, { data, revision }: StoredState): Uint8Array {
  try {
    return upgrade(data, revision);
  } catch (error) {
    if (!isApiError(error)) throw error;
    return inVersion(data, apiVersionOf(cache.descriptor));
  }
}
