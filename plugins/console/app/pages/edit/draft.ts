import { mergeChanges } from '../../base/merge.ts';
import type { MergeConflict } from '../../base/merge.ts';
import { isObject } from '../../base/json.ts';
import type { Json, JsonObject, Path } from '../../base/json.ts';
import { managersOf } from '../../base/object.ts';
import type { ApiObject } from '../../base/object.ts';

/** Metadata that people write; the server sets the rest. */
const writtenMetadata = ['name', 'namespace', 'generateName', 'labels', 'annotations', 'finalizers', 'ownerReferences'];

/** The part of an object that people edit: without status and the fields that the server sets. */
export function editableOf(object: ApiObject): JsonObject {
  const { status: _status, metadata, ...rest } = object;
  const kept = writtenMetadata.flatMap((key) => (metadata[key] === undefined ? [] : [[key, metadata[key]] as const]));
  const { apiVersion, kind, ...fields } = rest;
  return { apiVersion, kind, metadata: Object.fromEntries(kept), ...fields };
}

interface Rebased {
  readonly draft: JsonObject;
  readonly conflicts: readonly MergeConflict[];
  /** Fields that others changed, and whose new values the draft now has. */
  readonly taken: readonly Path[];
}

/** Merges the changes of others into a draft. */
export function rebase(draft: JsonObject, base: JsonObject, theirs: JsonObject): Rebased {
  const { value, conflicts, taken } = mergeChanges({ base, mine: draft, theirs });
  return { draft: isObject(value) ? value : draft, conflicts, taken };
}

/**
 * Returns the field managers that own a field, or a part of the field, by server-side apply. These managers may set the
 * field again.
 */
export function ownersOfField(object: ApiObject, path: Path): readonly string[] {
  const owners = managersOf(object)
    .filter(({ operation, fieldsV1 }) => operation === 'Apply' && ownsField(fieldsV1, path))
    .map(({ manager }) => (typeof manager === 'string' ? manager : ''));
  return [...new Set(owners)];
}

/**
 * Returns true when `fields`, the `fieldsV1` of a manager, contains the field at `path` or a part of the field. A
 * manager that owns one item of a list counts as an owner of each item.
 */
function ownsField(fields: Json | undefined, path: Path): boolean {
  const [step, ...rest] = path;
  if (!isObject(fields)) return false;
  if (step === undefined || typeof step === 'number' || Object.keys(fields).length === 0) return true;
  return ownsField(fields[`f:${step}`], rest);
}
