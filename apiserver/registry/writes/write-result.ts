import { reasonOf } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { decodeObject, encodeObject, withRevision } from '../object/object-codec.ts';
import type { Resource } from '../kinds/resource.ts';

/** The result of a write. `bytes` is the object in the form for clients. */
export interface WriteResult {
  readonly bytes: Buffer;
  /** The object of `bytes`, parsed; the caller owns it. It has no resourceVersion, which is a field of its own here. */
  readonly object: ApiObject;
  /** Absent for a creation that was not stored (dryRun). */
  readonly resourceVersion?: string;
  /**
   * `removed`: the object is gone, and `bytes` is its last state. `unshown`: the object is marked for deletion, but the
   * version of the request cannot show it, so `bytes` is the stored form.
   */
  readonly outcome: 'created' | 'stored' | 'unchanged' | 'removed' | 'unshown';
  readonly warnings: readonly string[];
}

/** The result of a commit, or of its dry run. Without a revision, nothing was stored. */
export interface Written {
  readonly bytes: Buffer;
  readonly revision: number | undefined;
}

type Stored = Omit<WriteResult, 'warnings' | 'outcome'>;

export function resultOf(object: ApiObject, { bytes, revision }: Written): Stored {
  return revision === undefined ? { bytes, object } : { bytes, object, resourceVersion: String(revision) };
}

/**
 * The result of a deletion, in the version of the request. If the object cannot be converted, that is no error, because
 * the deletion is done.
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

/** True when the response has no object, only a success: after a deletion, or when the object cannot be converted. */
export function isHidden({ outcome }: WriteResult): boolean {
  return outcome === 'removed' || outcome === 'unshown';
}

export function writtenAs(data: Buffer, revision: number | undefined): Written {
  return { bytes: revision === undefined ? data : withRevision(data, revision), revision };
}
