import { ApiError } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { maxObjectBytes } from '../../limits/object-size.ts';

/**
 * Stored bytes hold no resourceVersion: it is the commit's revision, which is not known before the commit. It is spliced
 * in once, as the first field of metadata, when the commit has answered; what is in memory is what goes over the wire.
 */
const metadataMarker = Buffer.from('"metadata":{');

/** The bytes to store: apiVersion, kind and metadata first, resourceVersion left out. They share memory with others: copy what is to be kept. */
export function encodeObject({ apiVersion, kind, metadata, ...fields }: ApiObject): Buffer {
  return pooledBytes(
    JSON.stringify({ apiVersion, kind, metadata: { ...metadata, resourceVersion: undefined }, ...fields }),
  );
}

// Bytes on their way to the store. Buffer's own pool is for six objects, and making it costs as much as half of the rest.
const poolBytes = 256 * 1024;
let pool = Buffer.allocUnsafeSlow(poolBytes);
let poolUsed = 0;

function pooledBytes(text: string): Buffer {
  // A unit of UTF-16 takes three bytes at most.
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

/** @throws ApiError RequestEntityTooLarge */
export function checkObjectSize({ length }: Buffer): void {
  if (length <= maxObjectBytes) return;
  const message = `Request entity too large: the object has ${length} bytes, limit is ${maxObjectBytes}`;
  throw new ApiError('RequestEntityTooLarge', message);
}

/** Gives memory for the bytes of one object. */
export type Allocate = (bytes: number) => Buffer;

/** What {@link withRevision} adds to an object, at most. */
export const maxRevisionBytes = 40;

/** Memory for many objects that come together: a tenth of the cost of allocating each. They go together as well. */
export function allocateFrom(bytes: number): Allocate {
  const slab = Buffer.allocUnsafeSlow(bytes);
  let used = 0;
  return (size) => slab.subarray(used, (used += size));
}

/** Memory of an object's own: `Buffer.from` would pin blocks of a shared pool. */
const allocateOne: Allocate = (bytes) => Buffer.allocUnsafeSlow(bytes);

/** Stored bytes are no object. The message says nothing of their content, which may be secret. */
export class BrokenObjectError extends Error {
  override readonly name = 'BrokenObjectError';
}

/** The bytes to serve. @throws BrokenObjectError for bytes without metadata. */
export function withRevision(stored: Uint8Array, revision: number, allocate: Allocate = allocateOne): Buffer {
  const source = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  // apiVersion and kind were checked against the model: they hold no quote, so the first match is the real one.
  const marker = source.indexOf(metadataMarker);
  if (marker < 0) throw new BrokenObjectError('what is stored is not an object with metadata');
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

/** How the stored bytes of an object begin. Remembers the last: the objects of a kind are read one after the other. */
function startOf(apiVersion: string): Buffer {
  if (apiVersion !== lastVersion) {
    lastStart = Buffer.from(`{"apiVersion":${JSON.stringify(apiVersion)},`);
    lastVersion = apiVersion;
  }
  return lastStart;
}

/** Whether stored bytes are in a version; a comparison of bytes. */
export function isInVersion(stored: Uint8Array, apiVersion: string): boolean {
  const start = startOf(apiVersion);
  return stored.length > start.length && start.compare(stored, 0, start.length) === 0;
}

/** The stored bytes under the name of another version, as if fields were the same in both. */
export function inVersion(stored: Uint8Array, apiVersion: string): Uint8Array {
  if (isInVersion(stored, apiVersion)) return stored;
  const source = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  // apiVersion comes first, and holds no quote.
  return Buffer.concat([startOf(apiVersion), source.subarray(source.indexOf('",') + 2)]);
}

/** A fresh, unfrozen object for one request to work on; the bytes are those of an object. */
export function decodeObject<T extends ApiObject = ApiObject>(bytes: Buffer): T {
  return JSON.parse(bytes.toString('utf8')) as T;
}
