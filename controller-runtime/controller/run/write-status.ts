import { applyMergePatch, deepEqual, type ApiObject, type Condition, type ModelDescriptor } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { CacheView } from './cache-view.ts';
import type { RunConditions } from './run-conditions.ts';
import { hasStatus, hasStatusField } from './status-schema.ts';
import { toJson } from '../../client/to-json.ts';

export interface StatusParts {
  readonly client: Client;
  readonly view: CacheView;
  readonly model: ModelDescriptor;
  /**
   * The object that the run received. Its generation becomes `status.observedGeneration`, if the schema has this field.
   */
  readonly object: ApiObject;
  /**
   * The conditions that the run has set with `condition()`. They are written together with the status. Absent when
   * there are none.
   */
  readonly conditions?: RunConditions | undefined;
}

interface Status {
  readonly conditions?: readonly Condition[];
}

/**
 * Merges `partial` into the object's status with one write, or without a write when nothing changes. An
 * `observedGeneration` in `partial`, even null, is written instead of the generation of the run's object. If there are
 * conditions to write, the revision is a precondition, because the list of conditions is written as a whole.
 */
export async function writeStatus(parts: StatusParts, partial: unknown): Promise<ApiObject> {
  const { client, view, model, object, conditions } = parts;
  if (!hasStatus(model)) {
    const { kind } = model;
    throw new TypeError(`${kind} has no status: add a property "status" to its schema, or do not call status()`);
  }
  const observed = hasStatusField(model, 'observedGeneration')
    ? { observedGeneration: object.metadata.generation }
    : {};
  const { name, namespace, uid } = object.metadata;
  // When a new object has the name of the run's object, `newest` returns the run's object, not the new one. The uid in
  // the preconditions then makes the write fail with a Conflict.
  const present = view.newest(object);
  const before = (Reflect.get(present, 'status') ?? {}) as Status;
  const stated = { ...observed, ...(toJson(partial) as Status) };
  const listed = conditions?.appliedTo(stated.conditions ?? before.conditions);
  const status = listed === undefined ? stated : { ...stated, conditions: listed };
  let written = present;
  if (!deepEqual(applyMergePatch(before, status), before)) {
    const { resourceVersion } = present.metadata;
    const preconditions = listed === undefined ? { uid } : { uid, resourceVersion };
    const scope = namespace === undefined ? {} : { namespace };
    const options = { subresource: 'status', preconditions, ...scope } as const;
    written = await client.patch(model, name, { type: 'merge', patch: { status } }, options);
  }
  if (listed !== undefined) conditions?.written(before.conditions, listed);
  return written;
}
