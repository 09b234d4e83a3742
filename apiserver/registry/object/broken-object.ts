import { ApiError, apiVersionOf } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor, ObjectMeta } from '@homeostat/controller-runtime/api';
import type { BrokenEntry } from '../../index/broken-entry.ts';
import { createEntry } from '../../index/create-entry.ts';
import type { KindCache } from '../../index/kind-cache.ts';
import { keyPrefixOf } from '../../store/object-key.ts';
import type { Row } from '../../store/store.ts';
import { BrokenObjectError, encodeObject, withRevision } from './object-codec.ts';
import { clip, resourceName } from './resource-errors.ts';

/**
 * Checks only the fields that the server relies on, because at its start the server calls this function for each object
 * that it parses.
 * @throws BrokenObjectError for JSON that is not an object with valid metadata.
 */
export function checkObject(value: unknown): asserts value is ApiObject {
  const { metadata } = (value ?? {}) as { readonly metadata?: Partial<Record<keyof ObjectMeta, unknown>> | null };
  const { name, namespace = '', ownerReferences = [], finalizers = [] } = metadata ?? {};
  const isRight = typeof name === 'string' && typeof namespace === 'string';
  if (isRight && Array.isArray(ownerReferences) && Array.isArray(finalizers)) return;
  throw new BrokenObjectError('the stored value is not an object with metadata');
}

/** Returns the name and the namespace in the key of an object. */
function nameInKey(key: string, model: ModelDescriptor): Pick<ObjectMeta, 'name' | 'namespace'> {
  const [name = '', namespace] = key.slice(keyPrefixOf(model).length).split('/').reverse();
  return namespace === undefined ? { name } : { name, namespace };
}

/**
 * Returns the entry of an object that cannot be read. It has the object's name, and its uid if the start of the bytes
 * is intact.
 */
export function brokenEntry(cache: KindCache, { key, data, revision }: Row, problem: string): BrokenEntry {
  const { descriptor: model, indexes } = cache;
  const names = nameInKey(key, model);
  const uid = uidOf(data, names.name);
  const metadata = { ...names, ...(uid === undefined ? {} : { uid }) } as ObjectMeta;
  const object: ApiObject = { apiVersion: apiVersionOf(model), kind: model.kind, metadata };
  const bytes = withRevision(encodeObject(object), revision);
  return Object.assign(createEntry(object, { bytes, revision, values: indexes.map(() => []) }), { problem });
}

/** Returns the entry of an encrypted object that cannot be decrypted. */
export function lockedEntry(cache: KindCache, row: Row, problem: string): BrokenEntry {
  return Object.assign(brokenEntry(cache, row, problem), { isLocked: true });
}

/** Returns the entry of an object that is stored in another version and that the webhook has not converted yet. */
export function unconvertedEntry(cache: KindCache, row: Row): BrokenEntry {
  const problem = 'the object is stored in another version, and the conversion webhook has not converted the object';
  return Object.assign(brokenEntry(cache, row, problem), { isUnconverted: true });
}

/** Matches the start of an object's bytes, up to the end of its uid. The groups are the name and the uid. */
const beginning =
  /^\{"apiVersion":"[^"]*","kind":"[^"]*","metadata":\{"name":"([^"]*)",(?:"\w+":"[^"]*",){0,3}?"uid":"([\w-]{1,64})"/;

/** The number of bytes that contain the start of any object, up to the end of its uid. */
const beginningBytes = 4096;

function uidOf(data: Uint8Array, name: string): string | undefined {
  const start = Buffer.from(data.buffer, data.byteOffset, Math.min(data.byteLength, beginningBytes));
  const [, found, uid] = beginning.exec(start.toString('latin1')) ?? [];
  return found === name ? uid : undefined;
}

/** Returns the 500 for an object that exists but cannot be read. */
export function brokenObject(model: ModelDescriptor, entry: BrokenEntry): ApiError {
  const { name, problem } = entry;
  const { group, plural } = model;
  const message = `${resourceName(model)} "${clip(name)}" cannot be read: ${problem}; ${cureOf(entry)}`;
  return new ApiError('InternalError', message, { details: { name: clip(name), group, kind: plural } });
}

/** Returns what an operator can do about an object that cannot be read. */
export function cureOf({ isLocked = false, isUnconverted = false }: BrokenEntry): string {
  const other = isUnconverted ? 'try again, or delete it' : 'replace it by PUT, or delete it';
  return isLocked ? 'correct the encryption configuration, or delete the object' : other;
}
