import type { Entry } from '../index/entry.ts';
import { IndexValueError } from '../index/index-value-error.ts';
import type { KindCache } from '../index/kind-cache.ts';
import type { Row, Store } from '../store/store.ts';
import { IndexBuildError } from './index-build.ts';
import { allocateFrom, maxRevisionBytes } from './object-codec.ts';
import type { Allocate } from './object-codec.ts';
import { storedEntry } from './stored-entry.ts';

export interface ReadParts {
  readonly store: Store;
  readonly kindNumber: number;
  /** Objects read so far; called after each page. */
  readonly onProgress: (read: number) => void;
}

/**
 * A kind's objects with the values of their indexes. Each is as it was at some moment of the reading, and what comes or
 * goes meanwhile may be there or not. Rejects with IndexBuildError where an index cannot read an object.
 */
export async function readKind(cache: KindCache, { store, kindNumber, onProgress }: ReadParts): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const rows of store.scan(kindNumber)) {
    const total = rows.reduce((sum, row) => sum + row.data.length + maxRevisionBytes, 0);
    const allocate = allocateFrom(total);
    for (const row of rows) entries.push(entryOf(cache, row, allocate));
    onProgress(entries.length);
  }
  return entries;
}

function entryOf(cache: KindCache, row: Row, allocate: Allocate): Entry {
  try {
    return storedEntry(cache, row, allocate);
  } catch (error) {
    if (!(error instanceof IndexValueError)) throw error;
    const name = row.key.split('/').at(-1);
    const message = `index ${error.index} of ${cache.descriptor.kind}: cannot index "${name}": ${error.message}`;
    throw new IndexBuildError(message, { cause: error });
  }
}
