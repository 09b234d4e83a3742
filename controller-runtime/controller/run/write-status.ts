import { applyMergePatch, deepEqual, isJsonObject, type ApiObject, type ModelDescriptor } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { CacheView } from './cache-view.ts';
import { hasObservedGeneration, hasStatus } from './status-schema.ts';
import { toJson } from './to-json.ts';

export interface StatusParts {
  readonly client: Client;
  readonly view: CacheView;
  readonly model: ModelDescriptor;
  /** The object that the run received: its generation is the observed one. */
  readonly object: ApiObject;
}

/**
 * Merges into the object's status: one write, none when nothing differs. An `observedGeneration` that the author
 * states is kept, null included.
 */
export async function writeStatus({ client, view, model, object }: StatusParts, partial: unknown): Promise<ApiObject> {
  if (!hasStatus(model)) {
    const { kind } = model;
    throw new TypeError(`${kind} has no status: add a property "status" to its schema, or do not call status()`);
  }
  const observed = hasObservedGeneration(model) ? { observedGeneration: object.metadata.generation } : {};
  const stated = toJson(partial);
  const status = { ...observed, ...(isJsonObject(stated) ? stated : {}) };
  const { name, namespace, uid } = object.metadata;
  // The newest state may be of another object with this name. Then the write must fail with a Conflict.
  const present = view.newest(object);
  const before: unknown = Reflect.get(present, 'status') ?? {};
  if (deepEqual(applyMergePatch(before, status), before)) return present;
  const scope = namespace === undefined ? {} : { namespace };
  const options = { subresource: 'status', preconditions: { uid }, ...scope } as const;
  return client.patch(model, name, { type: 'merge', patch: { status } }, options);
}
