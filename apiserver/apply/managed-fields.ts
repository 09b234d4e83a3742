import type { ManagedFieldsEntry } from '@homeostat/controller-runtime/api';
import { difference, isEmptySet, leaf, union } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import type { FieldChanges } from './compare-fields.ts';

/** What an object's managers own, in the order in which it is shown. */
export type ManagedFields = readonly ManagedFieldsEntry[];

/** The writer, and its way of writing. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource?: string | undefined;
}

/** Entries of updates that an object keeps; more, and the oldest are merged. Kubernetes' number. */
const maxUpdateManagers = 10;

/** The manager that merged entries go under. Kubernetes' name. */
const mergedManager = 'ancient-changes';

/** What an entry owns; entries that are stored were checked when they came. */
export function fieldsOfEntry(entry: ManagedFieldsEntry | undefined): FieldSet {
  return (entry?.fieldsV1 as FieldSet | undefined) ?? leaf;
}

/** The entry of a manager. Who applies has one, whatever the version; who updates one for each version. */
export function entryOf(entries: ManagedFields, by: Manager): ManagedFieldsEntry | undefined {
  return entries.find((entry) => isEntryOf(entry, by));
}

function isEntryOf(entry: ManagedFieldsEntry, by: Manager): boolean {
  return (
    entry.manager === by.manager &&
    entry.operation === by.operation &&
    (entry.subresource ?? '') === (by.subresource ?? '') &&
    (by.operation === 'Apply' || entry.apiVersion === by.apiVersion)
  );
}

/** An entry for these fields. */
export function newEntry(by: Manager, fieldsV1: FieldSet, time: string | undefined): ManagedFieldsEntry {
  const { manager, operation, apiVersion, subresource } = by;
  const fieldsType = 'FieldsV1';
  // Written out: every write makes one, and spreading conditional parts takes longer than the rest of it.
  const entry: { -readonly [K in keyof ManagedFieldsEntry]: ManagedFieldsEntry[K] } =
    time === undefined
      ? { manager, operation, apiVersion, fieldsType, fieldsV1 }
      : { manager, operation, apiVersion, time, fieldsType, fieldsV1 };
  if (subresource !== undefined) entry.subresource = subresource;
  return entry;
}

/** All entries but this manager's, and this one, sorted; an entry that owns nothing goes. */
export function withEntry(entries: ManagedFields, by: Manager, entry: ManagedFieldsEntry): ManagedFields {
  const next = entries.filter((each) => !isEntryOf(each, by));
  if (!isEmptySet(fieldsOfEntry(entry))) next.push(entry);
  return next.length > 1 ? next.sort(compareEntries) : next;
}

/** What a write changed, as another version of the kind names its fields; undefined: by the same names. */
export type ChangesIn = (apiVersion: string) => FieldChanges | undefined;

/** The changes by the names that an entry's fields have. */
export function changesFor(
  { apiVersion }: ManagedFieldsEntry,
  changes: FieldChanges,
  { by, changesIn }: { readonly by: Manager; readonly changesIn?: ChangesIn | undefined },
): FieldChanges {
  return apiVersion === by.apiVersion ? changes : (changesIn?.(apiVersion) ?? changes);
}

/** Everybody loses what was removed, and all but who wrote it what was changed. Entries that lose nothing stay the same. */
export function withoutFields(
  entries: ManagedFields,
  changes: FieldChanges,
  write: { readonly by: Manager; readonly changesIn?: ChangesIn | undefined },
): ManagedFields {
  const kept: ManagedFieldsEntry[] = [];
  for (const entry of entries) {
    const { changed, removed } = changesFor(entry, changes, write);
    const fields = fieldsOfEntry(entry);
    const rest = difference(isEntryOf(entry, write.by) ? fields : difference(fields, changed), removed);
    if (rest === fields) kept.push(entry);
    else if (!isEmptySet(rest)) kept.push({ ...entry, fieldsV1: rest });
  }
  return kept;
}

/** The same, the manager's entry with another time. */
export function withTime(entries: ManagedFields, by: Manager, time: string): ManagedFields {
  const entry = entryOf(entries, by);
  return entry === undefined ? entries : withEntry(entries, by, newEntry(by, fieldsOfEntry(entry), time));
}

/** Merges the oldest entries of updates, those of one version with each other, until there are no more than ten. */
export function capUpdates(entries: ManagedFields): ManagedFields {
  if (entries.length <= maxUpdateManagers) return entries;
  const updates = entries.filter(({ operation }) => operation === 'Update').sort(compareAges);
  let surplus = updates.length - maxUpdateManagers;
  if (surplus <= 0) return entries;
  const kept = new Set(entries);
  const merged = new Map<string, ManagedFieldsEntry>();
  for (const entry of updates) {
    if (surplus === 0) break;
    const { apiVersion, time } = entry;
    const first = merged.get(apiVersion);
    kept.delete(entry);
    if (first === undefined) merged.set(apiVersion, entry);
    else {
      const by: Manager = { manager: mergedManager, operation: 'Update', apiVersion };
      merged.set(apiVersion, newEntry(by, union(fieldsOfEntry(first), fieldsOfEntry(entry)), time));
      surplus -= 1;
    }
  }
  return [...kept, ...merged.values()].sort(compareEntries);
}

/** Oldest first; what was merged before is older than all. */
function compareAges(a: ManagedFieldsEntry, b: ManagedFieldsEntry): number {
  return Number(b.manager === mergedManager) - Number(a.manager === mergedManager) || compareEntries(a, b);
}

/** Kubernetes' order: appliers first, then by time, entries without one in front. */
function compareEntries(a: ManagedFieldsEntry, b: ManagedFieldsEntry): number {
  return (
    compareTexts(a.operation, b.operation) ||
    compareTexts(a.time, b.time) ||
    compareTexts(a.manager, b.manager) ||
    compareTexts(a.apiVersion, b.apiVersion) ||
    compareTexts(a.subresource, b.subresource)
  );
}

function compareTexts(a = '', b = ''): number {
  return a < b ? -1 : Number(a > b);
}
