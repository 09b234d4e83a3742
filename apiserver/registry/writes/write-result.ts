import { reasonOf } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { decodeObject, encodeObject, withRevision } from '../object/object-codec.ts';
import type { Resource } from '../kinds/resource.ts';

/** The result of a write. `bytes` is the JSON of the object for clients. */
export interface WriteResult {
  readonly bytes: Buffer;
  /**
   * The parsed object, which the caller may modify. The resourceVersion in its metadata may be empty or outdated; use
   * {@link resourceVersion} instead.
   */
  readonly object: ApiObject;
  /** The resourceVersion of the object; absent for a creation that was not stored (dryRun). */
  readonly resourceVersion?: string;
  /**
   * `removed`: the object is gone, and `bytes` is its last state. `unshown`: the object is marked for deletion, but
   * cannot be converted to the version of the request, so `bytes` has the storage version.
   */
  readonly outcome: 'created' | 'stored' | 'unchanged' | 'removed' | 'unshown';
  readonly warnings: readonly string[];
}

/**
 * The result of a commit or of a dry run. The revision of a dry run is that of the stored object; undefined if there is
 * none.
 */
export interface Written {
  readonly bytes: Buffer;
  readonly revision: number | undefined;
}

type Stored = Omit<WriteResult, 'warnings' | 'outcome'>;

export function resultOf(object: ApiObject, { bytes, revision }: Written): Stored {
  return revision === undefined ? { bytes, object } : { bytes, object, resourceVersion: String(revision) };
}

/**
 * Returns the result of a deletion in the version of the request. If the object cannot be converted, this is not an
 * error, because the deletion is already stored.
 */
export function deletionAnswer({ view }: Resource, written: WriteResult): WriteResult {
  if (view === undefined) return written;
  const { bytes, resourceVersion } = written;
  const revision = resourceVersion === undefined ? undefined : Number(resourceVersion);
  try {
    const shown = view.fromStorage(decodeObject(bytes));
    return { ...written, ...resultOf(shown, writtenAs(encodeObject(shown), revision)) };
  } catch (error) {
    if (reasonOf(error) !== 'InternalError') throw error;
    return { ...written, outcome: 'unshown' };
  }
}

/**
 * Returns true when the response only reports success, without an object: after a removal, or when the object cannot be
 * converted.
 */
export function isHidden({ outcome }: WriteResult): boolean {
  return outcome === 'removed' || outcome === 'unshown';
}

export function writtenAs(data: Buffer, revision: number | undefined): Written {
  return { bytes: revision === undefined ? data : withRevision(data, revision), revision };
}
