import { deepEqual, type ApiObject } from '../../api/index.ts';

/** A node of `fieldsV1`: `f:<field>` for the fields of an object, `k:<keys>` for the items of a list, `.` for the node itself. */
type FieldSet = Readonly<Record<string, object>>;

/** True when a manager has applied anything to the object. */
export function hasApplied(object: ApiObject, manager: string): boolean {
  return appliedBy(object, manager) !== undefined;
}

/**
 * True when the object has exactly these fields from this manager, with these values, so that applying them again
 * would change nothing. False even for a value that the server stores in another form. Owner references are not
 * compared.
 */
export function isApplied(object: ApiObject, wanted: object, manager: string): boolean {
  const fields = appliedBy(object, manager);
  return fields !== undefined && isSame(fields, wanted, object, isEnvelope);
}

function appliedBy({ metadata }: ApiObject, manager: string): FieldSet | undefined {
  const entry = metadata.managedFields?.find(
    (each) => each.manager === manager && each.operation === 'Apply' && each.subresource === undefined,
  );
  return entry?.fieldsV1 as FieldSet | undefined;
}

/** Fields of an object that are not compared: they name it. */
const envelope: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);
const naming: ReadonlySet<string> = new Set(['name', 'namespace', 'uid', 'ownerReferences']);

type IsIgnored = (field: string) => boolean;
const isEnvelope: IsIgnored = (field) => envelope.has(field);
const isNaming: IsIgnored = (field) => naming.has(field);
const isNothing: IsIgnored = () => false;

function isSame(fields: FieldSet, wanted: object, present: object, isIgnored: IsIgnored): boolean {
  let owned = 0;
  for (const name of Object.keys(fields)) {
    if (name === '.') continue;
    if (!name.startsWith('f:')) return false;
    if (!isIgnored(name.slice(2))) owned += 1;
  }
  for (const [name, value] of Object.entries(wanted)) {
    if (value === undefined || isIgnored(name)) continue;
    const below = fields[`f:${name}`] as FieldSet | undefined;
    if (below === undefined || !isSameValue(below, value, Reflect.get(present, name))) return false;
    owned -= 1;
  }
  if (owned !== 0) return false;
  return isIgnored !== isEnvelope || isSameMetadata(fields, wanted, present);
}

function isSameMetadata(fields: FieldSet, wanted: object, present: object): boolean {
  const below = (fields['f:metadata'] ?? {}) as FieldSet;
  const metadata = (Reflect.get(wanted, 'metadata') ?? {}) as object;
  return isSame(below, metadata, Reflect.get(present, 'metadata') as object, isNaming);
}

/** A field without fields below it is owned as a whole. */
function isSameValue(fields: FieldSet, wanted: unknown, present: unknown): boolean {
  if (isEmpty(fields)) return deepEqual(wanted, present);
  if (typeof wanted !== 'object' || wanted === null || typeof present !== 'object' || present === null) return false;
  if (!Array.isArray(wanted)) return !Array.isArray(present) && isSame(fields, wanted, present, isNothing);
  return Array.isArray(present) && isSameList(fields, wanted, present);
}

/** A list whose items are merged: by the values of their keys (`k:`), or as a set (`v:`). */
function isSameList(fields: FieldSet, wanted: readonly unknown[], present: readonly unknown[]): boolean {
  let owned = 0;
  for (const [name, below] of Object.entries(fields)) {
    if (name === '.') continue;
    const sought = JSON.parse(name.slice(2)) as unknown;
    const isSought = name.startsWith('k:') ? hasKeys(sought) : (item: unknown) => deepEqual(item, sought);
    const item = wanted.find(isSought);
    const stored = present.find(isSought);
    if (item === undefined || stored === undefined) return false;
    if (name.startsWith('k:') && !isSameValue(below as FieldSet, item, stored)) return false;
    owned += 1;
  }
  return owned === wanted.length;
}

function hasKeys(keys: unknown): (item: unknown) => boolean {
  const sought = Object.entries(keys as object) as readonly [string, unknown][];
  return (item) =>
    typeof item === 'object' &&
    item !== null &&
    sought.every(([key, value]) => deepEqual(Reflect.get(item, key), value));
}

function isEmpty(fields: FieldSet): boolean {
  for (const _ in fields) return false;
  return true;
}
