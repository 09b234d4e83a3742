import { deepEqual } from '../base/json-equal.ts';
import type { ApiObject, ManagedFieldsEntry } from '../object/object.ts';

/**
 * Returns the field manager that wrote a state of an object, according to its managedFields. Returns undefined when
 * there are no managedFields, and when several managers are possible: times have whole seconds, so several entries can
 * have the same time. `previous` is the state before the write; undefined for a creation.
 */
export function writerOf(object: ApiObject, previous?: ApiObject): string | undefined {
  const entries = object.metadata.managedFields;
  if (entries === undefined || entries.length === 0) return undefined;
  if (entries.length === 1) return entries[0]?.manager;
  const known = previous?.metadata.managedFields ?? [];
  const changed = entries.filter((entry) => !known.some((other) => other.time === entry.time && isSame(other, entry)));
  if (changed.length > 0) return onlyManager(changed);
  // The write has changed no entry of managedFields. Probably, its writer also made the previous write, in the same
  // second. So the writer is the manager of the entry with the latest time.
  const last = entries.reduce((time, entry) => (entry.time !== undefined && entry.time > time ? entry.time : time), '');
  const latest = entries.filter(({ time }) => time === last);
  const isOfStatus = previous !== undefined && changesStatusAlone(object, previous);
  return onlyManager(latest.filter(({ subresource }) => (subresource === 'status') === isOfStatus));
}

function isSame(a: ManagedFieldsEntry, b: ManagedFieldsEntry): boolean {
  return a.manager === b.manager && a.operation === b.operation && a.subresource === b.subresource;
}

function onlyManager(entries: readonly ManagedFieldsEntry[]): string | undefined {
  const manager = entries[0]?.manager;
  return entries.every((entry) => entry.manager === manager) ? manager : undefined;
}

function changesStatusAlone(object: ApiObject, previous: ApiObject): boolean {
  return (
    object.metadata.generation === previous.metadata.generation &&
    !deepEqual(Reflect.get(object, 'status'), Reflect.get(previous, 'status'))
  );
}
