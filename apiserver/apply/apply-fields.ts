import type { ManagedFieldsEntry } from '@homeostat/controller-runtime/api';
import type { Shape } from '../schema/shape.ts';
import { Pace } from '../turns/pace.ts';
import type { Steps } from '../turns/steps.ts';
import type { FieldChanges } from './compare-fields.ts';
import { allFieldsSteps, compareSteps } from './compare-steps.ts';
import { differenceSteps, intersectionSteps, unionOfAll } from './field-set-steps.ts';
import { isEmptySet, leaf } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import type { Fields } from './field-type.ts';
import { appliedFieldsOf } from './fields-of.ts';
import { entryOf, fieldsOfEntry, newEntry, withEntry, withoutFields, WriteChanges } from './managed-fields.ts';
import type { ChangesIn, ManagedFields, Manager } from './managed-fields.ts';
import { checkManagersSize } from './managers-size.ts';
import { mergeApplied } from './merge-applied.ts';
import { removeUnowned } from './remove-fields.ts';

export interface AppliedWrite {
  readonly by: Manager;
  readonly shape: Shape;
  /** True: other managers lose the fields that the apply changes. False: a change of their fields is a conflict. */
  readonly force: boolean;
  /** Fields of other managers that the apply takes over even without force. */
  readonly yielded?: FieldSet;
  /**
   * Returns the changes that an apply with the result `content` makes, with the names that the changed fields have in
   * the given version. Returns undefined when the object has no form in that version: then the apply assumes that the
   * fields have the same names there. Default: fields have the same names in all versions.
   */
  readonly changesIn?: ((apiVersion: string, content: Fields) => Steps<FieldChanges | undefined>) | undefined;
}

/** Fields of one manager that an apply would change. */
export interface FieldConflict {
  readonly entry: ManagedFieldsEntry;
  readonly fields: FieldSet;
}

/** An object, with the owners of its fields. */
export interface LiveFields {
  readonly content: Fields;
  readonly managedFields: ManagedFields;
}

export type Applied =
  | { readonly conflicts: readonly FieldConflict[] }
  | { readonly conflicts?: undefined; readonly content: Fields; readonly managedFields: ManagedFields };

/**
 * Merges an applied object into the live content, and returns the result with its managed fields. If there are
 * conflicts and `force` is false, returns the conflicts instead. The manager owns the fields that it applies. A field
 * that it applied before and now leaves out is removed, unless another manager owns it. The manager's own entry keeps
 * its time: whether anything has changed is known only later, after the defaults are filled in.
 */
export function* applyFields(
  live: LiveFields,
  applied: Fields,
  { by, shape, force, yielded = leaf, changesIn }: AppliedWrite,
): Steps<Applied> {
  const pace = new Pace();
  const previous = entryOf(live.managedFields, by);
  const entry = newEntry(by, yield* appliedFieldsOf(applied, shape, pace), previous?.time);
  yield* checkManagersSize([entry]);
  const claimed = withEntry(live.managedFields, by, entry);
  const merged = yield* mergeApplied(live.content, applied, shape, pace);
  // An empty list of type set or map may be in no manager's field set, so `removeUnowned` would remove it. Therefore
  // all applied fields count as owned here, including empty lists.
  const appliedFields = yield* allFieldsSteps(applied, shape, pace);
  const owned = yield* unionOfAll([...claimed.map(fieldsOfEntry), appliedFields], pace);
  const content = yield* removeUnowned(merged, { last: fieldsOfEntry(previous), owned }, shape, pace);
  const compared = yield* compareSteps(live.content, content, shape, pace);
  const inVersion: ChangesIn = function* inVersion(apiVersion) {
    return changesIn === undefined ? undefined : yield* changesIn(apiVersion, content);
  };
  const changes = new WriteChanges(compared, { by, isLong: true, changesIn: inVersion });
  if (!force) {
    const others = claimed.filter((each) => each !== entry);
    const conflicts = yield* conflictsIn(others, changes, yielded);
    if (conflicts.length > 0) return { conflicts };
  }
  return { content, managedFields: yield* withoutFields(claimed, changes) };
}

function* conflictsIn(
  others: ManagedFields,
  changes: WriteChanges,
  yielded: FieldSet,
): Steps<readonly FieldConflict[]> {
  const conflicts: FieldConflict[] = [];
  for (const entry of others) {
    const { changed } = changes.known(entry) ?? (yield* changes.of(entry));
    const taken = yield* intersectionSteps(fieldsOfEntry(entry), changed);
    const fields = yield* differenceSteps(taken, yielded);
    if (!isEmptySet(fields)) conflicts.push({ entry, fields });
  }
  return conflicts;
}

/**
 * Returns an applied object without the fields in conflict, and without the objects that contain only fields in
 * conflict.
 */
export function* withoutContested(applied: Fields, conflicts: readonly FieldConflict[], shape: Shape): Steps<Fields> {
  const pace = new Pace();
  const contested = conflicts.map(({ fields }) => fields);
  const last = yield* unionOfAll(contested, pace);
  const owned = yield* differenceSteps(yield* appliedFieldsOf(applied, shape, pace), last);
  return yield* removeUnowned(applied, { last, owned }, shape, pace);
}
