import type { ManagedFieldsEntry } from '@homeostat/controller-runtime/api';
import type { Shape } from '../schema/shape.ts';
import { compareFields } from './compare-fields.ts';
import type { FieldChanges } from './compare-fields.ts';
import { difference, intersection, isEmptySet, leaf, union } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import type { Fields } from './field-type.ts';
import { allFieldsOf, appliedFieldsOf } from './fields-of.ts';
import { allOwned, changesFor, entryOf, fieldsOfEntry, newEntry, withEntry, withoutFields } from './managed-fields.ts';
import type { ManagedFields, Manager } from './managed-fields.ts';
import { mergeApplied } from './merge-applied.ts';
import { removeUnowned } from './remove-fields.ts';

export interface AppliedWrite {
  readonly by: Manager;
  readonly shape: Shape;
  /** Take the fields of others that the applied object wants otherwise. */
  readonly force: boolean;
  /** Fields that others own and that are taken without force all the same. */
  readonly yielded?: FieldSet;
  /** Of the content that the apply makes. Default: fields have the same names in all versions. */
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
 * The live content with an applied one in it, and who owns what then; or the conflicts, unless `force` is set. The
 * manager owns what it applies; what it applied before and does not now goes, unless another owns it. The manager's own
 * entry keeps its time: whether anything has changed is not known before defaults are filled in.
 */
export function applyFields(
  live: { readonly content: Fields; readonly managedFields: ManagedFields },
  applied: Fields,
  { by, shape, force, yielded = leaf, changesIn }: AppliedWrite,
): Applied {
  const previous = entryOf(live.managedFields, by);
  const entry = newEntry(by, appliedFieldsOf(applied, shape), previous?.time);
  const claimed = withEntry(live.managedFields, by, entry);
  const merged = mergeApplied(live.content, applied, shape) as Fields;
  // What is applied stays, empty lists included, which nobody owns.
  const owned = union(allOwned(claimed), allFieldsOf(applied, shape));
  const content = removeUnowned(merged, { last: fieldsOfEntry(previous), owned }, shape);
  const changes = compareFields(live.content, content, shape);
  const others = claimed.filter((each) => each !== entry);
  const write = { by, changesIn: (apiVersion: string) => changesIn?.(apiVersion, content) };
  const conflicts = force
    ? []
    : others
        .map((each) => conflictWith(each, difference(changesFor(each, changes, write).changed, yielded)))
        .filter(({ fields }) => !isEmptySet(fields));
  if (conflicts.length > 0) return { conflicts };
  return { content, managedFields: withoutFields(claimed, changes, write) };
}

function conflictWith(entry: ManagedFieldsEntry, changed: FieldSet): FieldConflict {
  return { entry, fields: intersection(fieldsOfEntry(entry), changed) };
}

/** An applied object without the fields that are in conflict, nor what holds nothing else. */
export function withoutContested(applied: Fields, conflicts: readonly FieldConflict[], shape: Shape): Fields {
  const last = conflicts.map(({ fields }) => fields).reduce(union, leaf);
  return removeUnowned(applied, { last, owned: difference(appliedFieldsOf(applied, shape), last) }, shape);
}
