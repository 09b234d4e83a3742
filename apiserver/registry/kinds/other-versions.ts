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
  /** The conversions of the version; undefined for the storage version. */
  readonly view: VersionView | undefined;
}

interface Versions {
  readonly from: InVersion;
  readonly to: InVersion;
  /** The rules of the storage version. */
  readonly storage: Rules;
}

/**
 * Computes which fields a write changes in another version, because some managers own fields by their names in that
 * version. Returns undefined when the object cannot be converted to that version: then the field names are assumed to
 * be the same.
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

/**
 * Converts a copy of an object, because a conversion freezes its argument, and the write changes the object after this
 * call.
 */
export function project(object: ApiObject, { from, to, storage }: Versions): ApiObject {
  const copy = structuredClone(object);
  const stored = from.view === undefined ? copy : from.view.toStorage(copy, storage);
  return to.view === undefined ? stored : to.view.fromStorage(stored);
}
