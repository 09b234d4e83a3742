import { ApiError, deepEqual, ignoreNotFound, isNotFound, parseKey } from '../api/index.ts';
import type { ApiObject, Model, NewObject, ObjectKey } from '../api/index.ts';
import type { Client, WriteOptions } from './client.ts';
import { isLostRace } from './retryable-errors.ts';
import { toJson } from './to-json.ts';

/**
 * The maximum number of attempts. An attempt fails when another client writes the object between the read and the write
 * of this attempt. After eight failed attempts in a row, the caller gets the error.
 */
const maxAttempts = 8;

/** The options of {@link createOrUpdate}. */
export interface CreateOrUpdateRequest<T extends ApiObject> {
  /** The name, or the name and the namespace. With the name alone, the namespace comes from the options. */
  readonly key: string | ObjectKey;
  readonly options?: WriteOptions;
  /**
   * Returns the desired object. It is called with the present object, or with undefined when the object does not exist.
   * The present object is frozen, so return a new one: `{ ...present, spec: { ...present.spec, replicas: 3 } }`. The
   * name, namespace and resourceVersion of the result are ignored; its uid and version are preconditions. The function
   * is called again when another client has written the object between the read and the write.
   */
  change(this: void, present: T | undefined): NewObject<T>;
}

/** The resulting object, and whether it was created, updated or unchanged. */
export interface CreatedOrUpdated<T extends ApiObject> {
  readonly object: T;
  readonly result: 'created' | 'updated' | 'unchanged';
}

/**
 * Creates the object, or replaces it with the result of `change`; writes nothing when the result equals the present
 * object. When another client writes the object between the read and the write, the function tries again; after eight
 * such attempts in a row, it rejects with the last error. It rejects with any other error at once.
 */
export async function createOrUpdate<T extends ApiObject>(
  client: Pick<Client, 'get' | 'create' | 'update'>,
  model: Model<T>,
  request: CreateOrUpdateRequest<T>,
): Promise<CreatedOrUpdated<T>> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryOnce(client, model, request);
    } catch (error) {
      if (!isLostRace(error) || attempt >= maxAttempts) throw error;
    }
  }
}

async function tryOnce<T extends ApiObject>(
  client: Pick<Client, 'get' | 'create' | 'update'>,
  model: Model<T>,
  { key, options = {}, change }: CreateOrUpdateRequest<T>,
): Promise<CreatedOrUpdated<T>> {
  const { name, namespace = options.namespace } = typeof key === 'string' ? parseKey(key) : key;
  const scope = namespace === undefined ? {} : { namespace };
  const { signal } = options;
  const read = { ...scope, ...(signal === undefined ? {} : { signal }) };
  const present = await client.get(model, name, read).catch(ignoreNotFound);
  const wanted = asJson(change(present));
  const writeOptions = { ...options, ...scope };
  if (present === undefined) {
    const metadata = { ...wanted.metadata, name, ...scope };
    const object = { ...wanted, metadata } as unknown as NewObject<T>;
    return { object: await client.create(model, object, writeOptions), result: 'created' };
  }
  const { apiVersion, kind } = present;
  const { uid, resourceVersion } = present.metadata;
  const metadata = { uid, ...wanted.metadata, name, ...scope, resourceVersion };
  const next = { ...wanted, apiVersion, kind, metadata } as unknown as T;
  if (deepEqual(present, next)) return { object: present, result: 'unchanged' };
  const object = await client.update(next, writeOptions).catch(conflictWhenAbsent);
  // When the only difference was in fields that the server fills in, the server wrote nothing, and the revision is the
  // same.
  return { object, result: object.metadata.resourceVersion === resourceVersion ? 'unchanged' : 'updated' };
}

/**
 * Returns the object as JSON without undefined members. These members are never stored, so a comparison that included
 * them would always find a difference. Also leaves out resourceVersion, which the server sets.
 */
function asJson(object: { readonly metadata?: object }): { readonly metadata: object } {
  const json = toJson(object);
  const { resourceVersion: _revision, ...metadata } = { resourceVersion: undefined, ...json.metadata };
  return { ...json, metadata };
}

/**
 * Converts NotFound to a Conflict, so that the write is tried again: another client has deleted the object after it was
 * read.
 */
function conflictWhenAbsent(error: unknown): never {
  if (isNotFound(error)) throw new ApiError('Conflict', 'the object was deleted in the meantime', { cause: error });
  throw error;
}
