import {
  ApiError,
  applyMergePatch,
  deepEqual,
  isAlreadyExists,
  isConflict,
  isFormerLeader,
  isNotFound,
} from '../api/index.ts';
import type { ApiObject, Model, NewObject, ObjectKey } from '../api/index.ts';
import type { Client, Desired, WriteOptions } from './client.ts';

/** Each further attempt means that somebody else wrote in between; who loses eight times in a row should be told. */
const maxAttempts = 8;

export interface EnsureRequest<T extends ApiObject> {
  /** A name alone takes its namespace from the options. */
  readonly key: string | ObjectKey;
  readonly desired: Desired<T>;
  readonly options?: WriteOptions | undefined;
}

/**
 * {@link Client.ensure} in terms of other verbs, for every client alike. After eight lost races it rejects with the
 * last one's error. A `version` or `resourceVersion` in `desired` counts for nothing.
 */
export async function ensureObject<T extends ApiObject>(
  client: Pick<Client, 'get' | 'create' | 'update'>,
  model: Model<T>,
  request: EnsureRequest<T>,
): Promise<T> {
  const step = { client, model, ...wantedOf(request) };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ensureOnce(step);
    } catch (error) {
      const lostRace = (isConflict(error) && !isFormerLeader(error)) || isAlreadyExists(error);
      if (!lostRace || attempt >= maxAttempts) throw error;
    }
  }
}

interface Wanted {
  readonly name: string;
  readonly options: WriteOptions;
  /** As JSON: without undefined, which would neither be stored nor ever compare equal. */
  readonly patch: { readonly metadata: Readonly<Record<string, unknown>> };
}

interface EnsureStep<T extends ApiObject> extends Wanted {
  readonly client: Pick<Client, 'get' | 'create' | 'update'>;
  readonly model: Model<T>;
}

function wantedOf<T extends ApiObject>({ key, desired, options = {} }: EnsureRequest<T>): Wanted {
  const { name, namespace = options.namespace } = typeof key === 'string' ? { name: key } : key;
  const json = JSON.parse(JSON.stringify(desired)) as { readonly metadata?: Readonly<Record<string, unknown>> };
  const { version: _version, resourceVersion: _revision, ...metadata } = json.metadata ?? {};
  const scope = namespace === undefined ? {} : { namespace };
  return { name, options: { ...options, ...scope }, patch: { ...json, metadata: { ...metadata, name, ...scope } } };
}

async function ensureOnce<T extends ApiObject>({ client, model, name, options, patch }: EnsureStep<T>): Promise<T> {
  const { namespace, signal } = options;
  const read = { ...(namespace === undefined ? {} : { namespace }), ...(signal === undefined ? {} : { signal }) };
  const current = await client.get(model, name, read).catch(undefinedWhenAbsent);
  // A patch's nulls mean absence, also where there is nothing yet.
  if (current === undefined) return client.create(model, applyMergePatch({}, patch) as NewObject<T>, options);
  const merged = applyMergePatch(current, patch) as T;
  return deepEqual(current, merged) ? current : client.update(merged, options).catch(conflictWhenAbsent);
}

/** Somebody deleted the object after it was read: a lost race like any other. */
function conflictWhenAbsent(error: unknown): never {
  if (isNotFound(error)) throw new ApiError('Conflict', 'the object was deleted meanwhile', { cause: error });
  throw error;
}

function undefinedWhenAbsent(error: unknown): undefined {
  if (isNotFound(error)) return undefined;
  throw error;
}
