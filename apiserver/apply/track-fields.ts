import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { Shape } from '../schema/shape.ts';
import { compareFields } from './compare-fields.ts';
import { contentOf } from './content.ts';
import { difference, isEmptySet, union } from './field-set.ts';
import { newFieldsOf } from './fields-of.ts';
import { capUpdates, entryOf, fieldsOfEntry, newEntry, withEntry, withoutFields } from './managed-fields.ts';
import type { ChangesIn, ManagedFields, Manager } from './managed-fields.ts';

/** A write other than an apply. */
export interface TrackedWrite {
  readonly by: Manager;
  readonly shape: Shape;
  /** RFC 3339, whole seconds. */
  readonly now: string;
  /** Default: fields have the same names in all versions. */
  readonly changesIn?: ChangesIn | undefined;
}

/** Returns the managed fields of a new object: its creator owns all fields. */
export function trackCreation(object: ApiObject, { by, shape, now }: TrackedWrite): ManagedFields {
  const fields = newFieldsOf(contentOf(object), shape);
  return isEmptySet(fields) ? [] : [newEntry(by, fields, now)];
}

/** Returns the managed fields after an update: the writer becomes the only owner of the fields that it changed. */
export function trackUpdate(
  entries: ManagedFields,
  { before, after }: { before: ApiObject; after: ApiObject },
  { by, shape, now, changesIn }: TrackedWrite,
): ManagedFields {
  const changes = compareFields(contentOf(before), contentOf(after), shape);
  const rest = withoutFields(entries, changes, { by, changesIn });
  if (isEmptySet(changes.changed)) return rest;
  const owned = union(fieldsOfEntry(entryOf(rest, by)), changes.changed);
  return capUpdates(withEntry(rest, by, newEntry(by, owned, now)));
}

/**
 * Returns the managed fields of an apply whose result was changed by hooks. The applier still owns all fields that it applied,
 * so that it can apply the same again. It owns the hooks' other changes by an update, so that its next apply does not remove
 * them.
 */
export function trackAdmitted(
  entries: ManagedFields,
  { before, after }: { before: ApiObject; after: ApiObject },
  { by, shape, now, changesIn }: TrackedWrite,
): ManagedFields {
  const changes = compareFields(contentOf(before), contentOf(after), shape);
  const applied = entryOf(entries, by);
  const others = entries.filter((entry) => entry !== applied);
  const writer: Manager = { ...by, operation: 'Update' };
  const rest = withoutFields(others, changes, { by: writer, changesIn });
  const added = difference(changes.changed, fieldsOfEntry(applied));
  const owned = union(fieldsOfEntry(entryOf(rest, writer)), added);
  const updates = isEmptySet(added) ? rest : withEntry(rest, writer, newEntry(writer, owned, now));
  return capUpdates(applied === undefined ? updates : withEntry(updates, by, applied));
}
