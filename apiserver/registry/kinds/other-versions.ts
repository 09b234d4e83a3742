import { isApiError } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { FieldChanges } from '../../apply/compare-fields.ts';
import { compareSteps } from '../../apply/compare-steps.ts';
import { contentOf } from '../../apply/fields-of.ts';
import { Pace } from '../../turns/pace.ts';
import type { Steps } from '../../turns/steps.ts';
import type { States } from '../object/states.ts';
import { PendingConversion } from './pending-conversion.ts';
import type { VersionView } from './version-view.ts';
import type { Rules } from '../rules/write-request.ts';

interface InVersion {
  readonly rules: Rules;
  /** undefined for the storage version. */
  readonly view: VersionView | undefined;
}

interface Versions {
  readonly from: InVersion;
  readonly to: InVersion;
  /** The rules of the storage version. */
  readonly storage: Rules;
}

/**
 * The changes of a write in terms of another version, for managers whose fields are named in that version. undefined
 * when an object cannot be converted to it: field names are then assumed to be the same.
 */
export function* changesInVersion(versions: Versions, { before, after }: States): Steps<FieldChanges | undefined> {
  try {
    const old = project(before, versions);
    yield;
    const next = project(after, versions);
    yield;
    return yield* compareSteps(contentOf(old), contentOf(next), versions.to.rules.schema.shape, new Pace());
  } catch (error) {
    if (error instanceof PendingConversion) error.isOptional = true;
    if (!isApiError(error)) throw error;
    return undefined;
  }
}

/** Converts a copy of an object, because a conversion freezes its argument, which the write still uses. */
export function project(object: ApiObject, { from, to, storage }: Versions): ApiObject {
  const copy = structuredClone(object);
  const stored = from.view === undefined ? copy : from.view.toStorage(copy, storage);
  return to.view === undefined ? stored : to.view.fromStorage(stored);
}
