import { applyMergePatch } from '../api/index.ts';
import type { ApiObject, Model, NewObject, ObjectKey } from '../api/index.ts';
import type { Client, Desired, WriteOptions } from './client.ts';
import { createOrUpdate } from './create-or-update.ts';
import { toJson } from './to-json.ts';

export interface EnsureRequest<T extends ApiObject> {
  /** With a name alone, the namespace comes from the options. */
  readonly key: string | ObjectKey;
  readonly desired: Desired<T>;
  readonly options?: WriteOptions | undefined;
}

/**
 * {@link Client.ensure} made of other verbs, the same for every client. After eight lost races it rejects with the
 * last one's error. A `version` or `resourceVersion` in `desired` is ignored.
 */
export async function ensureObject<T extends ApiObject>(
  client: Pick<Client, 'get' | 'create' | 'update'>,
  model: Model<T>,
  request: EnsureRequest<T>,
): Promise<T> {
  const { key, desired, options = {} } = request;
  const patch = patchOf(desired);
  // A null in a patch means absence, even when there is no object yet.
  const change = (present: T | undefined): NewObject<T> => applyMergePatch(present ?? {}, patch) as NewObject<T>;
  const { object } = await createOrUpdate(client, model, { key, options, change });
  return object;
}

/** Converts to JSON: drops undefined, which a patch would take for a value. */
function patchOf(desired: { readonly metadata?: object }): object {
  const json = toJson(desired);
  const {
    version: _version,
    resourceVersion: _revision,
    ...metadata
  } = { version: undefined, resourceVersion: undefined, ...json.metadata };
  return { ...json, metadata };
}
