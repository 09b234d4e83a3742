import { deepEqual, isJsonObject, type ApiObject, type JsonObject } from '../../api/index.ts';

/**
 * A node of `fieldsV1`: `f:<field>` for the fields of an object, `k:<keys>` or `v:<value>` for the items of a list, `.`
 * for the node itself.
 */
type FieldSet = JsonObject;

/** True when the manager has applied any field to the object. */
export function hasApplied(object: ApiObject, manager: string): boolean {
  return appliedBy(object, manager) !== undefined;
}

/**
 * True when the manager has applied exactly the wanted fields to the object and they still have the wanted values, so
 * that applying them again would change nothing. False when the server stores one of the values in another form. Owner
 * references are not compared.
 */
export function isApplied(object: ApiObject, wanted: object, manager: string): boolean {
  const fields = appliedBy(object, manager);
  const present: unknown = object;
  if (fields === undefined || !isJsonObject(wanted) || !isJsonObject(present)) return false;
  return isSame(fields, wanted, present, envelope) && isSameMetadata(fields, wanted, present);
}

function appliedBy({ metadata: { managedFields = [] } }: ApiObject, manager: string): FieldSet | undefined {
  for (const each of managedFields) {
    if (each.manager === manager && each.operation === 'Apply' && each.subresource === undefined)
      return isJsonObject(each.fieldsV1) ? each.fieldsV1 : undefined;
  }
  return undefined;
}

/** Fields that a comparison leaves out. */
interface Ignored {
  readonly names: ReadonlySet<string>;
  /** The same fields by their keys in `fieldsV1`: for the field `kind`, the key is `f:kind`. */
  readonly keys: ReadonlySet<string>;
}

/** The top-level fields that {@link isSame} leaves out: two identify the kind, and metadata is compared separately. */
const envelope = ignoring('apiVersion', 'kind', 'metadata');
const naming = ignoring('name', 'namespace', 'uid', 'ownerReferences');

function ignoring(...names: readonly string[]): Ignored {
  return { names: new Set(names), keys: new Set(names.map((name) => `f:${name}`)) };
}

/**
 * The keys in `fieldsV1` by the names of the fields: for `kind`, the key is `f:kind`. They are cached, because runs
 * repeatedly compare the same fields: a new string for each comparison would be a third of the garbage of a run.
 */
const fieldKeys = new Map<string, string>();
const mostFieldKeys = 10_000;

/** Returns the key of a field in `fieldsV1`. */
function fieldKey(name: string): string {
  let key = fieldKeys.get(name);
  if (key === undefined) {
    // Labels and data can have any names, so the number of cached keys is limited.
    if (fieldKeys.size >= mostFieldKeys) fieldKeys.clear();
    fieldKeys.set(name, (key = `f:${name}`));
  }
  return key;
}

function isSame(fields: FieldSet, wanted: JsonObject, present: JsonObject, ignored?: Ignored): boolean {
  let owned = 0;
  for (const key in fields) {
    if (key === '.') continue;
    if (!key.startsWith('f:')) return false;
    if (ignored?.keys.has(key) !== true) owned += 1;
  }
  for (const name in wanted) {
    const value = wanted[name];
    if (value === undefined || ignored?.names.has(name) === true) continue;
    const below = fields[fieldKey(name)];
    if (!isJsonObject(below) || !isSameValue(below, value, present[name])) return false;
    owned -= 1;
  }
  return owned === 0;
}

function isSameMetadata(fields: FieldSet, wanted: JsonObject, present: JsonObject): boolean {
  const below = fields['f:metadata'] ?? {};
  const metadata = wanted['metadata'] ?? {};
  const stored = present['metadata'];
  if (!isJsonObject(below) || !isJsonObject(metadata) || !isJsonObject(stored)) return false;
  return isSame(below, metadata, stored, naming);
}

/**
 * True when the owned fields have the same content in `wanted` and in `present`. An empty field set means that the
 * value is owned as a whole.
 */
function isSameValue(fields: FieldSet, wanted: unknown, present: unknown): boolean {
  if (isEmpty(fields)) return deepEqual(wanted, present);
  if (isJsonObject(wanted)) return isJsonObject(present) && isSame(fields, wanted, present);
  return Array.isArray(wanted) && Array.isArray(present) && isSameList(fields, wanted, present);
}

/**
 * True when the items that `fields` names are equal in both lists, and `wanted` has no other items. In `fields`, `k:`
 * names an item by the values of its keys, and `v:` names an item of a set by its value.
 */
function isSameList(fields: FieldSet, wanted: readonly unknown[], present: readonly unknown[]): boolean {
  let owned = 0;
  for (const [name, below] of Object.entries(fields)) {
    if (name === '.') continue;
    const sought: unknown = JSON.parse(name.slice(2));
    const isSought = name.startsWith('k:') ? hasKeys(sought) : (item: unknown) => deepEqual(item, sought);
    const item = wanted.find(isSought);
    const stored = present.find(isSought);
    if (item === undefined || stored === undefined) return false;
    if (name.startsWith('k:') && !(isJsonObject(below) && isSameValue(below, item, stored))) return false;
    owned += 1;
  }
  return owned === wanted.length;
}

function hasKeys(keys: unknown): (item: unknown) => boolean {
  const sought = isJsonObject(keys) ? Object.entries(keys) : [];
  return (item) =>
    typeof item === 'object' &&
    item !== null &&
    sought.every(([key, value]) => deepEqual(Reflect.get(item, key), value));
}

function isEmpty(fields: FieldSet): boolean {
  for (const _ in fields) return false;
  return true;
}
