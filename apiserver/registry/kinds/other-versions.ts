import { isApiError } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { compareFields } from '../../apply/compare-fields.ts';
import type { FieldChanges } from '../../apply/compare-fields.ts';
import { contentOf } from '../../apply/content.ts';
import type { States } from '../object/states.ts';
import type { VersionView } from './version-view.ts';
import type { Rules } from '../rules/write-request.ts';

interface InVersion {
  readonly rules: Rules;
  /** undefined for the version that objects are stored in. */
  readonly view: VersionView | undefined;
}

interface Versions {
  readonly from: InVersion;
  readonly to: InVersion;
  /** The rules of the storage version. */
  readonly storage: Rules;
}

/**
 * What a write in one version changed as another version has it, for those whose fields are named in that one. undefined
 * where an object cannot be shown in it: fields then count as having the same names.
 */
export function changesInVersion(versions: Versions, { before, after }: States): FieldChanges | undefined {
  try {
    const [old, next] = [project(before, versions), project(after, versions)];
    return compareFields(contentOf(old), contentOf(next), versions.to.rules.schema.shape);
  } catch (error) {
    if (!isApiError(error)) throw error;
    return undefined;
  }
}

/** Conversions freeze what they get, and the write goes on with it. */
export function project(object: ApiObject, { from, to, storage }: Versions): ApiObject {
  const copy = structuredClone(object);
  const stored = from.view === undefined ? copy : from.view.toStorage(copy, storage);
  return to.view === undefined ? stored : to.view.fromStorage(stored);
}
