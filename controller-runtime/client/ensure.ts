import { applyMergePatch } from '../api/index.ts';
import type { ApiObject, Model, NewObject, ObjectKey } from '../api/index.ts';
import type { Client, Desired, WriteOptions } from './client.ts';
import { createOrUpdate } from './create-or-update.ts';
import { toJson } from './to-json.ts';

export interface EnsureRequest<T extends ApiObject> {
  /** The name, or the name and the namespace. With the name alone, the namespace comes from the options. */
  readonly key: string | ObjectKey;
  readonly desired: Desired<T>;
  readonly options?: WriteOptions | undefined;
}

/**
 * Implements {@link Client.ensure} with `get`, `create` and `update` of any client. When another client writes the
 * object between the read and the write, the function tries again; after eight such attempts, it rejects with the last
 * error. A `version` or `resourceVersion` in `desired` is ignored.
 */
export async function ensureObject<T extends ApiObject>(
  client: Pick<Client, 'get' | 'create' | 'update'>,
  model: Model<T>,
  request: EnsureRequest<T>,
): Promise<T> {
  const { key, desired, options = {} } = request;
  const patch = patchOf(desired);
  // When the object does not exist, the patch is applied to an empty object, because a null in the patch means that a
  // field is absent.
  const change = (present: T | undefined): NewObject<T> => applyMergePatch(present ?? {}, patch) as NewObject<T>;
  const { object } = await createOrUpdate(client, model, { key, options, change });
  return object;
}

/**
 * Returns the desired fields as JSON, for `applyMergePatch`. Leaves out undefined members, because they would set the
 * object's fields to undefined. Also leaves out version and resourceVersion.
 */
function patchOf(desired: { readonly metadata?: object }): object {
  const json = toJson(desired);
  const {
    version: _version,
    resourceVersion: _revision,
    ...metadata
  } = { version: undefined, resourceVersion: undefined, ...json.metadata };
  return { ...json, metadata };
}
