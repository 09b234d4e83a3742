import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { Shape } from '../schema/shape.ts';
import { compareFields } from './compare-fields.ts';
import { contentOf } from './content.ts';
import { difference, isEmptySet, union } from './field-set.ts';
import { newFieldsOf } from './fields-of.ts';
import { capUpdates, entryOf, fieldsOfEntry, newEntry, withEntry, withoutFields } from './managed-fields.ts';
import type { ChangesIn, ManagedFields, Manager } from './managed-fields.ts';

/** A write that is no apply. */
export interface TrackedWrite {
  readonly by: Manager;
  readonly shape: Shape;
  /** RFC 3339, whole seconds. */
  readonly now: string;
  /** Default: fields have the same names in all versions. */
  readonly changesIn?: ChangesIn | undefined;
}

/** The managed fields of a new object: all that it holds is its creator's. */
export function trackCreation(object: ApiObject, { by, shape, now }: TrackedWrite): ManagedFields {
  const fields = newFieldsOf(contentOf(object), shape);
  return isEmptySet(fields) ? [] : [newEntry(by, fields, now)];
}

/** The managed fields after an update: what it changed is the writer's, and nobody else's any more. */
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
 * The managed fields of an apply when hooks changed what it came to. What it applied is the applier's either way, so that
 * it may apply the same again; what it did not is the applier's by an update, so that its next apply leaves it there.
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
