import { deepEqual } from '../base/json-equal.ts';

/** The content of an object at one time. All fields except metadata may be absent. */
interface ObjectState {
  readonly metadata: object;
}

/** One field of an object before and after a change. */
export interface FieldChange {
  /** The path of the field, such as `spec.replicas` or `spec.items[0].name`. */
  readonly path: string;
  /** The value before the change; absent when the field is new. */
  readonly from?: unknown;
  /** The value after the change; absent when the field is removed. */
  readonly to?: unknown;
}

/** Fields of metadata that the server sets, and that {@link fieldChanges} leaves out. */
const serverFields: ReadonlySet<string> = new Set([
  'managedFields',
  'resourceVersion',
  'version',
  'generation',
  'uid',
  'creationTimestamp',
]);

/**
 * Returns the fields that differ between two states of an object, without the fields of metadata in `serverFields`.
 * `from` or `to` is absent when the field does not exist in that state.
 */
export function fieldChanges(before: ObjectState | undefined, after: ObjectState | undefined): readonly FieldChange[] {
  const changes: FieldChange[] = [];
  collect('', withoutServerFields(before), withoutServerFields(after), changes);
  return changes;
}

function withoutServerFields(object: ObjectState | undefined): object {
  if (object === undefined) return {};
  const metadata = Object.entries(object.metadata).filter(([name]) => !serverFields.has(name));
  return { ...object, metadata: Object.fromEntries(metadata) };
}

function collect(path: string, from: unknown, to: unknown, changes: FieldChange[]): void {
  if (deepEqual(from, to)) return;
  if (!isNode(from) || !isNode(to) || Array.isArray(from) !== Array.isArray(to)) {
    changes.push({ path, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) });
    return;
  }
  for (const name of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const below = Array.isArray(from) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
    collect(below, Reflect.get(from, name), Reflect.get(to, name), changes);
  }
}

function isNode(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
