import { apiVersionOf, isApiError } from '@homeostat/controller-runtime/api';
import { isBroken } from '../../index/broken-entry.ts';
import { createEntry } from '../../index/create-entry.ts';
import type { Entry } from '../../index/entry.ts';
import { IndexValueError } from '../../index/index-value-error.ts';
import type { KindCache } from '../../index/kind-cache.ts';
import { keyPrefixOf } from '../../store/object-key.ts';
import type { Row } from '../../store/store.ts';
import type { Steps } from '../../turns/steps.ts';
import { brokenEntry, checkObject, lockedEntry, unconvertedEntry } from '../object/broken-object.ts';
import { decodeSteps, severalStepsBytes } from '../object/decode-steps.ts';
import { BrokenObjectError, decodeObject, inVersion, withRevision } from '../object/object-codec.ts';
import { PendingConversion } from './pending-conversion.ts';
import type { ConvertStored } from './convert-stored-object.ts';

/** The parts of a kind that are needed to read stored objects. */
export interface KindReader {
  readonly cache: KindCache;
  readonly convertStored: ConvertStored;
}

/**
 * Returns the entry of a stored object; a BrokenEntry when the row could not be decrypted, or when its bytes are not an
 * object of the row's name. Throws IndexValueError, which names the index, when an index cannot read the object. For an
 * object that is stored in another version, throws PendingConversion when the conversion has to be fetched first, and
 * ApiError when the object cannot be converted.
 */
export function storedEntry(kind: KindReader, row: Row): Entry {
  if (row.problem !== undefined) return lockedEntry(kind.cache, row, row.problem);
  return unlessBroken(kind, row, () => {
    const bytes = servedBytes(kind, row);
    return indexedEntry(kind, { bytes, object: decodeObject(bytes), revision: row.revision });
  });
}

/** Computes the result of {@link storedEntry} in steps, for an object that takes long to parse. */
export function* storedEntrySteps(kind: KindReader, row: Row): Steps<Entry> {
  if (row.problem !== undefined || row.data.length <= severalStepsBytes) return storedEntry(kind, row);
  try {
    const bytes = servedBytes(kind, row);
    const object = yield* decodeSteps(bytes);
    return unlessBroken(kind, row, () => indexedEntry(kind, { bytes, object, revision: row.revision }));
  } catch (error) {
    return brokenBy(error, kind, row);
  }
}

/**
 * Returns the entry of an object that must be accepted as it is: a former state, or a state that another process wrote.
 * An object that an index cannot read gets no index values. An object that cannot be converted keeps its fields, and
 * gets no index values either. An object that a webhook has to convert first becomes a BrokenEntry. So a single object
 * cannot stop the work on others.
 */
export function lenientEntry(kind: KindReader, row: Row): Entry {
  try {
    return storedEntry(kind, row);
  } catch (error) {
    if (error instanceof PendingConversion) return unconvertedEntry(kind.cache, row);
    if (!(error instanceof IndexValueError) && !isApiError(error)) throw error;
    const { cache } = kind;
    return unlessBroken(kind, row, () => {
      const { revision } = row;
      const bytes = withRevision(asItIs(kind, row), revision, cache.slabs.allocate);
      const object = decodeObject(bytes);
      checkObject(object);
      return createEntry(object, { bytes, revision, values: cache.indexes.map(() => []), slabs: cache.slabs });
    });
  }
}

/** Computes the result of {@link lenientEntry} in steps, for an object that takes long to parse. */
export function* lenientEntrySteps(kind: KindReader, row: Row): Steps<Entry> {
  try {
    return yield* storedEntrySteps(kind, row);
  } catch {
    return lenientEntry(kind, row);
  }
}

/** Returns true when the kind has objects that a webhook must convert before they can be read. */
export function hasUnconverted({ broken }: Pick<KindCache, 'broken'>): boolean {
  if (broken.size === 0) return false;
  return [...broken.values()].some(({ isUnconverted }) => isUnconverted === true);
}

export function putEntry(cache: KindCache, entry: Entry): void {
  if (isBroken(entry)) cache.putBroken(entry);
  else cache.put(entry);
}

function servedBytes({ cache, convertStored }: KindReader, { data, revision }: Row): Buffer {
  return withRevision(convertStored(data, revision), revision, cache.slabs.allocate);
}

interface ReadObject {
  readonly bytes: Buffer;
  readonly object: unknown;
  readonly revision: number;
}

function indexedEntry({ cache }: KindReader, { bytes, object, revision }: ReadObject): Entry {
  checkObject(object);
  return createEntry(object, { bytes, revision, values: cache.draft(object), slabs: cache.slabs });
}

function unlessBroken(kind: KindReader, row: Row, read: () => Entry): Entry {
  const { cache } = kind;
  try {
    const entry = read();
    if (row.key === keyPrefixOf(cache.descriptor) + entry.key) return entry;
    return brokenEntry(cache, row, 'the stored value has the name of another object');
  } catch (error) {
    return brokenBy(error, kind, row);
  }
}

function brokenBy(error: unknown, { cache }: KindReader, row: Row): Entry {
  if (error instanceof SyntaxError) return brokenEntry(cache, row, 'the stored value is not valid JSON');
  if (error instanceof BrokenObjectError) return brokenEntry(cache, row, error.message);
  throw error;
}

function asItIs({ cache, convertStored }: KindReader, { data, revision }: Row): Uint8Array {
  try {
    return convertStored(data, revision);
  } catch (error) {
    if (!isApiError(error)) throw error;
    return inVersion(data, apiVersionOf(cache.descriptor));
  }
}
