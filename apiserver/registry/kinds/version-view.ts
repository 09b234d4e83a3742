import { apiVersionOf, LruCache } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelVersion } from '@homeostat/controller-runtime/api';
import { noteOrigin, originOf } from '@homeostat/controller-runtime/telemetry';
import { isBroken } from '../../index/broken-entry.ts';
import { entryWith } from '../../index/create-entry.ts';
import type { Entry } from '../../index/entry.ts';
import { convertObject } from './convert-object.ts';
import { decodeObject, encodeObject, inVersion, withRevision } from '../object/object-codec.ts';
import { PendingConversion } from './pending-conversion.ts';
import type { Rules } from '../rules/write-request.ts';

/** The maximum size in bytes of the cache of converted objects. Each version has its own cache. */
const maxCachedBytes = 32 * 1024 * 1024;

/**
 * The maximum number of objects that one call of {@link VersionView.fetch} reads, and the number of bytes after which
 * the call reads no further object. Reading that much takes some milliseconds.
 */
const maxFetched = 100;
const maxFetchedBytes = 1024 * 1024;

/**
 * Converts the objects of a kind to a version other than the storage version. An object is converted when a request
 * needs it, and the result is cached for a while.
 */
export class VersionView {
  #version: ModelVersion;
  #rules: Rules;
  readonly #onUnreadable: (error: unknown) => void;
  readonly #shown = new LruCache<Entry, Entry>({
    maxSize: maxCachedBytes,
    sizeOf: ({ size }) => size,
  });

  /** `onUnreadable` is called when a stored object cannot be converted to this version. */
  constructor(version: ModelVersion, rules: Rules, onUnreadable: (error: unknown) => void) {
    this.#version = version;
    this.#rules = rules;
    this.#onUnreadable = onUnreadable;
  }

  /** Replaces the rules and the conversions of this version. */
  replaceRules(rules: Rules, version: ModelVersion): void {
    this.#rules = rules;
    this.#version = version;
    this.#shown.clear();
  }

  /**
   * Returns a stored object in this version, with the index values of the object in the storage version. @throws as
   * {@link convertObject}.
   */
  show(entry: Entry): Entry {
    if (isBroken(entry)) {
      const { problem, isLocked = false } = entry;
      const bytes = Buffer.from(inVersion(entry.bytes, apiVersionOf(this.#rules.model)));
      return Object.assign(entryWith(entry, { bytes }), { problem, isLocked });
    }
    const known = this.#shown.get(entry);
    if (known !== undefined) return known;
    try {
      const object = this.fromStorage(decodeObject(entry.bytes));
      const shown = entryWith(entry, { bytes: withRevision(encodeObject(object), entry.revision) });
      const traceparent = originOf(entry);
      if (traceparent !== undefined) noteOrigin(shown, traceparent);
      this.#shown.set(entry, shown);
      return shown;
    } catch (error) {
      if (!(error instanceof PendingConversion)) this.#onUnreadable(error);
      throw error;
    }
  }

  /**
   * Fetches the conversions that {@link show} needs for these entries. Stops after the first 100 entries, or after the
   * entry with which their size reaches 1 MiB. @throws ApiError InternalError
   */
  async fetch(entries: Iterable<Entry>): Promise<void> {
    const pending: PendingConversion[] = [];
    let [read, bytes] = [0, 0];
    for (const entry of entries) {
      if (read === maxFetched || bytes >= maxFetchedBytes) break;
      read += 1;
      bytes += entry.size;
      try {
        this.show(entry);
      } catch (error) {
        // Any other error is ignored here: {@link show} throws it again.
        if (error instanceof PendingConversion) pending.push(error);
      }
    }
    const [first] = pending;
    if (first === undefined) return;
    await first.converter.fetch(
      pending.map(({ object }) => object),
      first.apiVersion,
    );
  }

  /** Converts an object from the storage version to this version. @throws as {@link convertObject}. */
  fromStorage(object: ApiObject): ApiObject {
    return convertObject(object, this.#rules, this.#version.fromStorage);
  }

  /** Converts an object to the storage version, whose rules are `storage`. @throws as {@link convertObject}. */
  toStorage(object: ApiObject, storage: Rules): ApiObject {
    return convertObject(object, storage, this.#version.toStorage);
  }
}
