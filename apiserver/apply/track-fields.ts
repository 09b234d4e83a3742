import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { Shape } from '../schema/shape.ts';
import { Pace } from '../turns/pace.ts';
import type { Steps } from '../turns/steps.ts';
import { compareFields } from './compare-fields.ts';
import type { FieldChanges } from './compare-fields.ts';
import { compareSteps, newFieldsSteps } from './compare-steps.ts';
import { contentOf } from './fields-of.ts';
import { differenceSteps, unionSteps } from './field-set-steps.ts';
import { isEmptySet, union } from './field-set.ts';
import { newFieldsOf } from './fields-of.ts';
import {
  capUpdates,
  entryOf,
  fieldsOfEntry,
  maxUpdateManagers,
  newEntry,
  withEntry,
  withoutFields,
  withoutFieldsAtOnce,
  WriteChanges,
} from './managed-fields.ts';
import type { ChangesIn, ManagedFields, Manager } from './managed-fields.ts';

/** A write other than an apply. */
export interface TrackedWrite {
  readonly by: Manager;
  readonly shape: Shape;
  /** RFC 3339, whole seconds. */
  readonly now: string;
  /** True when the fields may be many: the work is then done in steps. */
  readonly isLong: boolean;
  /** Default: fields have the same names in all versions. */
  readonly changesIn?: ChangesIn | undefined;
}

/** Returns the managed fields of a new object: its creator owns all fields. */
export function* trackCreation(object: ApiObject, { by, shape, now, isLong }: TrackedWrite): Steps<ManagedFields> {
  const content = contentOf(object);
  const fields = isLong ? yield* newFieldsSteps(content, shape, new Pace()) : newFieldsOf(content, shape);
  return isEmptySet(fields) ? [] : [newEntry(by, fields, now)];
}

/** Returns the managed fields after an update: the writer becomes the only owner of the fields that it changed. */
export function* trackUpdate(entries: ManagedFields, states: States, write: TrackedWrite): Steps<ManagedFields> {
  const { by, now, isLong } = write;
  const changes = isLong ? yield* changesSteps(states, write) : changesOf(states, write);
  const { changed } = changes;
  const written = new WriteChanges(changes, write);
  const rest = withoutFieldsAtOnce(entries, written) ?? (yield* withoutFields(entries, written));
  if (isEmptySet(changed)) return rest;
  const former = fieldsOfEntry(entryOf(rest, by));
  const owned = isLong ? yield* unionSteps(former, changed) : union(former, changed);
  const next = withEntry(rest, by, newEntry(by, owned, now));
  return next.length > maxUpdateManagers ? yield* capUpdates(next) : next;
}

/**
 * Returns the managed fields of an apply whose result was changed by hooks. The applier still owns all fields that it applied,
 * so that it can apply the same again. It owns the hooks' other changes by an update, so that its next apply does not remove
 * them.
 */
export function* trackAdmitted(entries: ManagedFields, states: States, write: TrackedWrite): Steps<ManagedFields> {
  const { by, now } = write;
  const changes = yield* changesSteps(states, write);
  const applied = entryOf(entries, by);
  const others = entries.filter((entry) => entry !== applied);
  const writer: Manager = { ...by, operation: 'Update' };
  const rest = yield* withoutFields(others, new WriteChanges(changes, { ...write, by: writer }));
  const added = yield* differenceSteps(changes.changed, fieldsOfEntry(applied));
  const owned = yield* unionSteps(fieldsOfEntry(entryOf(rest, writer)), added);
  const updates = isEmptySet(added) ? rest : withEntry(rest, writer, newEntry(writer, owned, now));
  return yield* capUpdates(applied === undefined ? updates : withEntry(updates, by, applied));
}

interface States {
  readonly before: ApiObject;
  readonly after: ApiObject;
}

function changesOf({ before, after }: States, { shape }: TrackedWrite): FieldChanges {
  return compareFields(contentOf(before), contentOf(after), shape);
}

function changesSteps({ before, after }: States, { shape }: TrackedWrite): Steps<FieldChanges> {
  return compareSteps(contentOf(before), contentOf(after), shape, new Pace());
}
