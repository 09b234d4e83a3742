import type { ManagedFieldsEntry } from '@homeostat/controller-runtime/api';
import type { Shape } from '../schema/shape.ts';
import type { Steps } from '../turns/steps.ts';
import { compareFields } from './compare-fields.ts';
import type { FieldChanges } from './compare-fields.ts';
import { difference, intersection, isEmptySet, leaf, union } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import type { Fields } from './field-type.ts';
import { allFieldsOf, appliedFieldsOf } from './fields-of.ts';
import { changesFor, entryOf, fieldsOfEntry, newEntry, withEntry, withoutFields } from './managed-fields.ts';
import type { ManagedFields, Manager } from './managed-fields.ts';
import { mergeApplied } from './merge-applied.ts';
import { removeUnowned } from './remove-fields.ts';

export interface AppliedWrite {
  readonly by: Manager;
  readonly shape: Shape;
  /** True to take over fields of other managers whose values the applied object changes. */
  readonly force: boolean;
  /** Fields of other managers that the apply takes over even without force. */
  readonly yielded?: FieldSet;
  /** Returns the changes of the applied content in another version. Default: fields have the same names in all versions. */
  readonly changesIn?: ((apiVersion: string, content: Fields) => FieldChanges | undefined) | undefined;
}

/** Fields of one manager that an apply would change. */
export interface FieldConflict {
  readonly entry: ManagedFieldsEntry;
  readonly fields: FieldSet;
}

export type Applied =
  | { readonly conflicts: readonly FieldConflict[] }
  | { readonly conflicts?: undefined; readonly content: Fields; readonly managedFields: ManagedFields };

/**
 * Merges an applied object into the live content, and returns the result with its managed fields; or the conflicts, unless
 * `force` is set. The manager owns the fields that it applies. A field that it applied before and now leaves out is removed,
 * unless another manager owns it. The manager's own entry keeps its time, since only the defaults that are filled in later
 * decide whether anything has changed.
 */
export function* applyFields(
  live: { readonly content: Fields; readonly managedFields: ManagedFields },
  applied: Fields,
  { by, shape, force, yielded = leaf, changesIn }: AppliedWrite,
): Steps<Applied> {
  const previous = entryOf(live.managedFields, by);
  const entry = newEntry(by, appliedFieldsOf(applied, shape), previous?.time);
  yield;
  const claimed = withEntry(live.managedFields, by, entry);
  const merged = mergeApplied(live.content, applied, shape) as Fields;
  yield;
  // All applied fields stay, even empty lists, which have no owner.
  const appliedFields = allFieldsOf(applied, shape);
  yield;
  const owned = yield* allOwned(claimed, appliedFields);
  const content = removeUnowned(merged, { last: fieldsOfEntry(previous), owned }, shape);
  yield;
  const changes = compareFields(live.content, content, shape);
  yield;
  const write = { by, changesIn: (apiVersion: string) => changesIn?.(apiVersion, content) };
  if (!force) {
    const changedFor = (other: ManagedFieldsEntry): FieldSet =>
      difference(changesFor(other, changes, write).changed, yielded);
    const conflicts = yield* conflictsIn(
      claimed.filter((each) => each !== entry),
      changedFor,
    );
    if (conflicts.length > 0) return { conflicts };
  }
  return { content, managedFields: withoutFields(claimed, changes, write) };
}

function* conflictsIn(
  others: ManagedFields,
  changedFor: (other: ManagedFieldsEntry) => FieldSet,
): Steps<readonly FieldConflict[]> {
  const conflicts: FieldConflict[] = [];
  for (const entry of others) {
    const fields = intersection(fieldsOfEntry(entry), changedFor(entry));
    if (!isEmptySet(fields)) conflicts.push({ entry, fields });
    yield;
  }
  return conflicts;
}

/** Returns the fields of all managers, and `more`. */
function* allOwned(entries: ManagedFields, more: FieldSet): Steps<FieldSet> {
  let all = leaf;
  for (const entry of entries) {
    all = union(all, fieldsOfEntry(entry));
    yield;
  }
  return union(all, more);
}

/** Returns an applied object without the fields in conflict, and without the objects that hold only such fields. */
export function withoutContested(applied: Fields, conflicts: readonly FieldConflict[], shape: Shape): Fields {
  const last = conflicts.map(({ fields }) => fields).reduce(union, leaf);
  return removeUnowned(applied, { last, owned: difference(appliedFieldsOf(applied, shape), last) }, shape);
}
