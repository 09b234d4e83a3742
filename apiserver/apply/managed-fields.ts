import type { ApiObject, ManagedFieldsEntry } from '@homeostat/controller-runtime/api';
import type { Shape } from '../schema/shape.ts';
import { Pace } from '../turns/pace.ts';
import type { Steps } from '../turns/steps.ts';
import { compareFields } from './compare-fields.ts';
import { compareSteps, newFieldsSteps } from './compare-steps.ts';
import { contentOf, newFieldsOf } from './fields-of.ts';
import { differenceSteps, intersectionSteps, unionOfAll, unionSteps } from './field-set-steps.ts';
import { difference, isEmptySet, leaf, union } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import type { FieldChanges } from './compare-fields.ts';
import { inBounds } from '../base/in-bounds.ts';

/** The entries of `metadata.managedFields`, in the order in which clients see them. */
export type ManagedFields = readonly ManagedFieldsEntry[];

/** The name of a writer, and the operation, version and subresource of its write. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource?: string | undefined;
}

/**
 * The maximum number of entries with the operation `Update` in the `managedFields` of an object. Beyond it, the oldest
 * of these entries are merged. Kubernetes has the same maximum.
 */
const maxUpdateManagers = 10;

/** The manager of merged entries, with the name that Kubernetes gives it. */
const mergedManager = 'ancient-changes';

/** Returns the fields of an entry. Stored entries need no check: they were checked when they were written. */
export function fieldsOfEntry(entry: ManagedFieldsEntry | undefined): FieldSet {
  return (entry?.fieldsV1 as FieldSet | undefined) ?? leaf;
}

/**
 * Returns the entry of a manager for one subresource. All applies of a manager share one entry; its updates have one
 * entry for each version.
 */
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

/** Returns an entry for these fields. */
export function newEntry(by: Manager, fieldsV1: FieldSet, time: string | undefined): ManagedFieldsEntry {
  const { manager, operation, apiVersion, subresource } = by;
  const fieldsType = 'FieldsV1';
  // The entry with a time and the entry without one are separate literals. Every write makes an entry, and object
  // spreads with conditions would take longer than the rest of this function.
  const entry: { -readonly [K in keyof ManagedFieldsEntry]: ManagedFieldsEntry[K] } =
    time === undefined
      ? { manager, operation, apiVersion, fieldsType, fieldsV1 }
      : { manager, operation, apiVersion, time, fieldsType, fieldsV1 };
  if (subresource !== undefined) entry.subresource = subresource;
  return entry;
}

/**
 * Returns the sorted entries, in which `entry` replaces the manager's old entry. If `entry` has no fields, it is left
 * out.
 */
export function withEntry(entries: ManagedFields, by: Manager, entry: ManagedFieldsEntry): ManagedFields {
  const next = entries.filter((each) => !isEntryOf(each, by));
  if (!isEmptySet(fieldsOfEntry(entry))) next.push(entry);
  return next.length > 1 ? next.sort(compareEntries) : next;
}

/**
 * Returns the changes of a write with the field names of another version. Returns undefined when the object cannot be
 * converted to that version. The caller then assumes that the fields have the same names in both versions.
 */
export type ChangesIn = (apiVersion: string) => Steps<FieldChanges | undefined>;

interface ChangingWrite {
  readonly by: Manager;
  /** True when there may be so many fields that the work must be done in steps. */
  readonly isLong: boolean;
  readonly changesIn?: ChangesIn | undefined;
}

/**
 * The changes of a write, with the field names of each version of the kind. They are computed once for each version.
 */
export class WriteChanges {
  readonly by: Manager;
  readonly isLong: boolean;
  readonly #changesIn: ChangesIn | undefined;
  readonly #own: FieldChanges;
  readonly #ownVersion: string;
  #byVersion: Map<string, FieldChanges> | undefined;

  constructor(changes: FieldChanges, { by, isLong, changesIn }: ChangingWrite) {
    this.isLong = isLong;
    this.by = by;
    this.#changesIn = changesIn;
    this.#own = changes;
    this.#ownVersion = by.apiVersion;
  }

  /**
   * Returns the changes of the write, with the names that the fields have in the entry's `apiVersion`. Returns
   * undefined when {@link of} has not computed the changes for this version yet.
   */
  known({ apiVersion }: ManagedFieldsEntry): FieldChanges | undefined {
    return apiVersion === this.#ownVersion ? this.#own : this.#byVersion?.get(apiVersion);
  }

  /** Returns the changes of the write, with the names that the fields have in the entry's `apiVersion`. */
  *of(entry: ManagedFieldsEntry): Steps<FieldChanges> {
    const { apiVersion } = entry;
    const named = this.#changesIn === undefined ? undefined : yield* this.#changesIn(apiVersion);
    const changes = named ?? this.#own;
    this.#byVersion ??= new Map<string, FieldChanges>();
    this.#byVersion.set(apiVersion, changes);
    return changes;
  }
}

/**
 * Returns the entries without the fields that the write removed, and, except for the writer's own entry, without the
 * fields that it changed. An entry that loses no field is returned as the same object.
 */
export function* withoutFields(entries: ManagedFields, changes: WriteChanges): Steps<ManagedFields> {
  const kept: ManagedFieldsEntry[] = [];
  for (const entry of entries) {
    const { changed, removed } = changes.known(entry) ?? (yield* changes.of(entry));
    let rest = fieldsOfEntry(entry);
    if (!changes.isLong) rest = restOf(entry, changes, { changed, removed });
    else {
      if (!isEntryOf(entry, changes.by)) rest = yield* without(rest, changed);
      rest = yield* without(rest, removed);
    }
    keep(kept, entry, rest);
  }
  return kept;
}

/**
 * Returns the entries without the fields that their managers no longer own after the write, as {@link withoutFields}
 * does, but in one step. Returns undefined when this needs several steps: the fields are many, or their names in the
 * version of an entry are not known yet.
 */
function withoutFieldsAtOnce(entries: ManagedFields, changes: WriteChanges): ManagedFields | undefined {
  if (changes.isLong) return undefined;
  const kept: ManagedFieldsEntry[] = [];
  for (const entry of entries) {
    const known = changes.known(entry);
    if (known === undefined) return undefined;
    keep(kept, entry, restOf(entry, changes, known));
  }
  return kept;
}

/** Returns the fields of an entry that its manager still owns after the write. */
function restOf(entry: ManagedFieldsEntry, { by }: WriteChanges, { changed, removed }: FieldChanges): FieldSet {
  const fields = fieldsOfEntry(entry);
  return difference(isEntryOf(entry, by) ? fields : difference(fields, changed), removed);
}

/**
 * Adds an entry with its remaining fields to `kept`. Adds the entry itself if it has lost no field, and adds nothing if
 * no field remains.
 */
function keep(kept: ManagedFieldsEntry[], entry: ManagedFieldsEntry, rest: FieldSet): void {
  if (rest === fieldsOfEntry(entry)) kept.push(entry);
  else if (!isEmptySet(rest)) kept.push({ ...entry, fieldsV1: rest });
}

/**
 * Returns the fields that are not lost. The time depends on the number of `fields`, not on the number of `lost` fields:
 * one write can take fields from thousands of entries, and this function is called for each entry.
 */
function* without(fields: FieldSet, lost: FieldSet): Steps<FieldSet> {
  return lost === leaf ? fields : yield* differenceSteps(fields, yield* intersectionSteps(fields, lost));
}

/** Returns the entries with a new time in the manager's entry. */
export function withTime(entries: ManagedFields, by: Manager, time: string): ManagedFields {
  const entry = entryOf(entries, by);
  return entry === undefined ? entries : withEntry(entries, by, newEntry(by, fieldsOfEntry(entry), time));
}

/**
 * Merges the oldest entries of updates until there are at most ten. Only entries of the same version are merged, so an
 * object that was updated in more than ten versions keeps more than ten entries.
 */
export function* capUpdates(entries: ManagedFields): Steps<ManagedFields> {
  if (entries.length <= maxUpdateManagers) return entries;
  const updates = entries.filter(({ operation }) => operation === 'Update').sort(compareAges);
  let surplus = updates.length - maxUpdateManagers;
  if (surplus <= 0) return entries;
  const kept = new Set(entries);
  const oldest = new Map<string, ManagedFieldsEntry[]>();
  for (const entry of updates) {
    if (surplus === 0) break;
    const same = oldest.get(entry.apiVersion);
    kept.delete(entry);
    if (same === undefined) oldest.set(entry.apiVersion, [entry]);
    else {
      same.push(entry);
      surplus -= 1;
    }
  }
  const merged: ManagedFieldsEntry[] = [];
  for (const same of oldest.values()) merged.push(yield* mergeEntries(same));
  return [...kept, ...merged].sort(compareEntries);
}

/**
 * Merges entries of one version, the oldest first, into one entry with the fields of all and the time of the newest.
 */
function* mergeEntries(same: readonly ManagedFieldsEntry[]): Steps<ManagedFieldsEntry> {
  const last = inBounds(same.at(-1));
  if (same.length === 1) return last;
  const by: Manager = { manager: mergedManager, operation: 'Update', apiVersion: last.apiVersion };
  return newEntry(by, yield* unionOfAll(same.map(fieldsOfEntry), new Pace()), last.time);
}

/**
 * Orders entries for a merge: first the results of earlier merges, then the other entries. Each of the two groups is
 * sorted by age, the oldest entry first.
 */
function compareAges(a: ManagedFieldsEntry, b: ManagedFieldsEntry): number {
  return Number(b.manager === mergedManager) - Number(a.manager === mergedManager) || compareEntries(a, b);
}

/**
 * Compares entries in the order of Kubernetes: entries of applies first, then by time; entries without a time come
 * before those with one.
 */
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

/** A write whose owners of fields are computed: a creation, an update, or an apply whose result a hook changed. */
export interface TrackedWrite {
  readonly by: Manager;
  readonly shape: Shape;
  /** The time of the write, in RFC 3339 with whole seconds. */
  readonly now: string;
  /** True when there may be so many fields that the work must be done in steps. */
  readonly isLong: boolean;
  /**
   * Returns the changes of this write with the field names of another version of the kind. When it is absent, the names
   * are the same in all versions.
   */
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
 * Returns the managed fields of an apply whose result was changed by hooks. The applier still owns all fields that it
 * applied, so that it can apply the same object again. Other fields that hooks added or changed are recorded in the
 * applier's entry for updates, so that its next apply does not remove them.
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
