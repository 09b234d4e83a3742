import { apiVersionOf } from '@homeostat/controller-runtime/api';
import { createEntry } from '../index/entry.ts';
import type { Entry } from '../index/entry.ts';
import { IndexValueError } from '../index/index-value-error.ts';
import type { KindCache } from '../index/kind-cache.ts';
import type { Row } from '../store/store.ts';
import { decodeObject, inVersion, withRevision } from './object-codec.ts';
import type { Allocate } from './object-codec.ts';

type StoredState = Pick<Row, 'data' | 'revision'>;

/** A stored object as memory holds it. Throws IndexValueError, with the object's name, where an index cannot read it. */
export function storedEntry(cache: KindCache, { data, revision }: StoredState, allocate?: Allocate): Entry {
  const served = inVersion(data, apiVersionOf(cache.descriptor));
  // Memory for many was measured by what is stored.
  const bytes = withRevision(served, revision, served === data ? allocate : undefined);
  const object = decodeObject(bytes);
  return createEntry(object, { bytes, revision, values: cache.draft(object) });
}

/**
 * The same for an object that has to be taken as it is: a past state, or one that another process wrote. Where an index
 * of today cannot read it, it has no values; that must not keep anything else from going on.
 */
export function lenientEntry(cache: KindCache, { data, revision }: StoredState, allocate?: Allocate): Entry {
  try {
    return storedEntry(cache, { data, revision }, allocate);
  } catch (error) {
    if (!(error instanceof IndexValueError)) throw error;
    const bytes = withRevision(inVersion(data, apiVersionOf(cache.descriptor)), revision);
    return createEntry(decodeObject(bytes), { bytes, revision, values: cache.indexes.map(() => []) });
  }
}
