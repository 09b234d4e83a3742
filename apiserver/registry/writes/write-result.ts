import { reasonOf } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { decodeObject, encodeObject, withRevision } from '../object/object-codec.ts';
import type { PreparedWrite } from './prepare-write.ts';
import type { Resource } from '../kinds/resource.ts';

/** What a write answers. `bytes` is the object as it goes over the wire. */
export interface WriteResult {
  readonly bytes: Buffer;
  /** The same, parsed; the caller's own. Its resourceVersion stands beside it. */
  readonly object: ApiObject;
  /** Absent for a creation that was not stored (dryRun). */
  readonly resourceVersion?: string;
  /**
   * `removed`: the object is gone, and `bytes` is its last state. `unshown`: it is declared deleted, in a version that cannot
   * show it, and `bytes` is what is stored.
   */
  readonly outcome: 'created' | 'stored' | 'unchanged' | 'removed' | 'unshown';
  readonly warnings: readonly string[];
}

/** What a commit, or a dry run of it, made of a change. No revision: nothing has one yet. */
export interface Written {
  readonly bytes: Buffer;
  readonly revision: number | undefined;
}

export type Stored = Omit<WriteResult, 'warnings' | 'outcome'>;

export function resultOf(object: ApiObject, { bytes, revision }: Written): Stored {
  return { bytes, object, ...(revision === undefined ? {} : { resourceVersion: String(revision) }) };
}

/** What was stored, in the version of the request. */
export function storedAnswer({ object, answer }: PreparedWrite, written: Written): Stored {
  if (answer === undefined) return resultOf(object, written);
  return resultOf(answer, writtenAs(encodeObject(answer), written.revision));
}

/** A deletion that was declared in the kind's own version, in that of the request. It is done: that it cannot be shown is no failure. */
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
