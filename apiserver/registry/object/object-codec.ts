import type { ApiObject } from '@homeostat/controller-runtime/api';

/**
 * The place in stored bytes at which the resourceVersion is inserted, as the first field of metadata. Stored bytes have
 * none, because it is the revision of the commit, which is not known before. It is inserted once, after the commit: the
 * bytes in memory are those that clients get.
 */
const metadataMarker = Buffer.from('"metadata":{');

// For bytes on their way to the store. Buffer's own pool holds only six objects, and allocating a new pool costs half
// as much as everything else in encodeObject.
const poolBytes = 256 * 1024;
let pool = Buffer.allocUnsafeSlow(poolBytes);
let poolUsed = 0;

/**
 * The bytes to store: apiVersion, kind and metadata first, without resourceVersion. They share memory with others: copy
 * the bytes that you keep.
 */
export function encodeObject({ apiVersion, kind, metadata, ...fields }: ApiObject): Buffer {
  const text = JSON.stringify({ apiVersion, kind, metadata: { ...metadata, resourceVersion: undefined }, ...fields });
  // A UTF-16 code unit takes at most three bytes.
  const most = text.length * 3;
  if (most > poolBytes / 8) return Buffer.from(text);
  if (most > poolBytes - poolUsed) {
    pool = Buffer.allocUnsafeSlow(poolBytes);
    poolUsed = 0;
  }
  const from = poolUsed;
  poolUsed += pool.write(text, from);
  return pool.subarray(from, poolUsed);
}

/** Allocates memory for the bytes of one object. */
type Allocate = (bytes: number) => Buffer;

/** Separate memory for an object: `Buffer.from` would keep blocks of a shared pool alive. */
const allocateOne: Allocate = (bytes) => Buffer.allocUnsafeSlow(bytes);

/** Stored bytes that are no object. The message does not contain the bytes, which may be secret. */
export class BrokenObjectError extends Error {
  override readonly name = 'BrokenObjectError';
}

/** The bytes for clients. @throws BrokenObjectError for bytes without metadata. */
export function withRevision(stored: Uint8Array, revision: number, allocate: Allocate = allocateOne): Buffer {
  const source = stored instanceof Buffer ? stored : Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  // apiVersion and kind were checked against the model and have no quotes, so the first match is the right one.
  const marker = source.indexOf(metadataMarker);
  if (marker < 0) throw new BrokenObjectError('the stored value is not an object with metadata');
  const at = marker + metadataMarker.length;
  const field = `"resourceVersion":"${revision}",`;
  const bytes = allocate(source.length + field.length);
  source.copy(bytes, 0, 0, at);
  bytes.write(field, at, 'latin1');
  source.copy(bytes, at + field.length, at);
  return bytes;
}

let lastVersion = '';
let lastStart = Buffer.alloc(0);

/**
 * The start of an object's stored bytes. The last one is cached: the objects of a kind are read one after the other.
 */
function startOf(apiVersion: string): Buffer {
  if (apiVersion !== lastVersion) {
    lastStart = Buffer.from(`{"apiVersion":${JSON.stringify(apiVersion)},`);
    lastVersion = apiVersion;
  }
  return lastStart;
}

/** True when stored bytes are in a version; compares bytes. */
export function isInVersion(stored: Uint8Array, apiVersion: string): boolean {
  const start = startOf(apiVersion);
  return stored.length > start.length && start.compare(stored, 0, start.length) === 0;
}

/** The stored bytes with the name of another version, as if both had the same fields. */
export function inVersion(stored: Uint8Array, apiVersion: string): Uint8Array {
  if (isInVersion(stored, apiVersion)) return stored;
  const source = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  // apiVersion comes first and has no quotes.
  return Buffer.concat([startOf(apiVersion), source.subarray(source.indexOf('",') + 2)]);
}

/** A new, unfrozen object for one request; the bytes must be those of an object. */
export function decodeObject<T extends ApiObject = ApiObject>(bytes: Buffer): T {
  return JSON.parse(bytes.toString('utf8')) as T;
}

let lastSecond = Number.NaN;
let lastText = '';

/**
 * Returns a timestamp in the form of metadata: RFC 3339, UTC, whole seconds. The last second is cached, since every write
 * needs it.
 */
export function formatTime(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== lastSecond) {
    lastText = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`;
    lastSecond = second;
  }
  return lastText;
}
