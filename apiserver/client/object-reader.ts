import { freezeDeep } from '@homeostat/controller-runtime';
import { LruCache } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { noteOrigin, originOf } from '@homeostat/controller-runtime/telemetry';
import type { Entry } from '../index/entry.ts';
import { decodeSteps, severalStepsBytes } from '../registry/object/decode-steps.ts';
import { decodeObject } from '../registry/object/object-codec.ts';

/** The memory of a parsed object, as a multiple of its JSON. */
const parsedFactor = 4;

const maxCachedBytes = 64 * 1024 * 1024;

/**
 * Parses the object of an {@link Entry} when a caller reads it, freezes the object deeply, and caches it for a while.
 * Two reads of the same entry may return different copies of the object.
 */
export class ObjectReader {
  readonly #parsed = new LruCache<Entry, ApiObject>({
    maxSize: maxCachedBytes,
    sizeOf: (_object, { size }) => size * parsedFactor,
  });
  readonly #bytes = new WeakMap<object, Buffer>();

  read<T extends ApiObject>(entry: Entry): T {
    const known = this.#parsed.get(entry);
    if (known !== undefined) return known as T;
    const object = parseEntry<T>(entry);
    this.#parsed.set(entry, object);
    this.#bytes.set(object, entry.bytes);
    return object;
  }

  /**
   * Reads an object without adding it to the cache, for callers that read many objects once: these would replace all
   * others in the cache, and garbage collections would have to copy them. A large object takes several steps.
   */
  *readOnce<T extends ApiObject>(entry: Entry): Generator<undefined, T, undefined> {
    const known = this.parsed(entry) as T | undefined;
    if (known !== undefined) return known;
    if (entry.size <= severalStepsBytes) return parseEntry<T>(entry);
    return withOrigin(yield* decodeSteps<T>(entry.bytes, { freeze: freezeDeep }), entry);
  }

  /** Returns the parsed object of an entry if this reader has cached the object; undefined otherwise. */
  parsed(entry: Entry): ApiObject | undefined {
    return this.#parsed.peek(entry);
  }

  /**
   * Returns the JSON from which {@link read} parsed an object; undefined for any other object. The JSON is still equal
   * to the object, because the object is frozen.
   */
  bytesOf(object: object): Buffer | undefined {
    return this.#bytes.get(object);
  }
}

function parseEntry<T extends ApiObject>(entry: Entry): T {
  return withOrigin(freezeDeep(decodeObject<T>(entry.bytes)), entry);
}

function withOrigin<T extends ApiObject>(object: T, entry: Entry): T {
  const traceparent = originOf(entry);
  if (traceparent !== undefined) noteOrigin(object, traceparent);
  return object;
}
