import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { Steps } from '../../turns/steps.ts';

/**
 * The text in stored bytes after which the resourceVersion is inserted, as the first field of metadata. Stored bytes
 * have no resourceVersion: it is the revision of the commit, which is not known beforehand. The resourceVersion is
 * inserted after the commit, or when an object is read from the database. The bytes in memory then have the
 * resourceVersion, and can be sent to clients as they are.
 */
const metadataMarker = Buffer.from('"metadata":{');

// The pool for bytes that go to the store. The pool of `Buffer` has room for only six objects, and the allocation of a
// new pool costs half as much as everything else in encodeObject.
const poolBytes = 256 * 1024;
let pool = Buffer.allocUnsafeSlow(poolBytes);
let poolUsed = 0;

/**
 * Returns the bytes to store: apiVersion, kind and metadata first, without resourceVersion. The bytes of a small object
 * are in a shared pool. A caller that keeps these bytes must copy them, because they would keep the whole pool in
 * memory.
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

/**
 * Returns the same bytes as {@link encodeObject}, for a large object. Each step writes one field of the object or of
 * its metadata, because managedFields and the spec of an object can take 10 ms each.
 */
export function* encodeSteps({ apiVersion, kind, metadata, ...fields }: ApiObject): Steps<Buffer> {
  const ofMetadata = yield* membersOf({ ...metadata, resourceVersion: undefined });
  const start = [...(yield* membersOf({ apiVersion, kind })), `"metadata":{${ofMetadata.join(',')}}`];
  const rest = yield* membersOf(fields);
  yield;
  return Buffer.from(`{${[...start, ...rest].join(',')}}`);
}

/** Returns the JSON of each field, with its name. Leaves out fields that JSON cannot represent, such as undefined. */
function* membersOf(fields: Readonly<Record<string, unknown>>): Steps<string[]> {
  const members: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    const member = JSON.stringify({ [name]: value }).slice(1, -1);
    if (member !== '') members.push(member);
    yield;
  }
  return members;
}

/** Allocates memory for the bytes of one object. */
type Allocate = (bytes: number) => Buffer;

/** Allocates separate memory for an object: bytes of `Buffer.from` would keep a whole shared pool in memory. */
const allocateOne: Allocate = (bytes) => Buffer.allocUnsafeSlow(bytes);

/**
 * An error for stored bytes that are not an object. Its message does not contain the bytes, because they may be secret.
 */
export class BrokenObjectError extends Error {
  override readonly name = 'BrokenObjectError';
}

/**
 * Returns the bytes for clients: the stored bytes with the resourceVersion. @throws BrokenObjectError for bytes without
 * metadata.
 */
export function withRevision(stored: Uint8Array, revision: number, allocate: Allocate = allocateOne): Buffer {
  const source = stored instanceof Buffer ? stored : Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  // apiVersion and kind were checked against the model and have no quotes, so the first match is the right one.
  const marker = source.indexOf(metadataMarker);
  if (marker < 0) throw new BrokenObjectError('the stored value is not an object with metadata');
  const at = marker + metadataMarker.length;
  const field = `"resourceVersion":"${revision}",`;
  const bytes = allocate(source.length + field.length);
  // `set` copies the whole source, shifted by the length of the field. `copyWithin` then copies the bytes before the
  // field back to the start, and `write` fills the gap. Separate copies of the two parts of the source would each need
  // a view of the source.
  bytes.set(source, field.length);
  bytes.copyWithin(0, field.length, field.length + at);
  bytes.write(field, at, 'latin1');
  return bytes;
}

let lastVersion = '';
let lastStart = Buffer.alloc(0);

/**
 * Returns the start of the stored bytes of an object in this version. The last result is cached, because the objects of
 * a kind are read one after the other.
 */
function startOf(apiVersion: string): Buffer {
  if (apiVersion !== lastVersion) {
    lastStart = Buffer.from(`{"apiVersion":${JSON.stringify(apiVersion)},`);
    lastVersion = apiVersion;
  }
  return lastStart;
}

/** Returns true when stored bytes have this apiVersion. Compares only the start of the bytes. */
export function isInVersion(stored: Uint8Array, apiVersion: string): boolean {
  const start = startOf(apiVersion);
  return stored.length > start.length && start.compare(stored, 0, start.length) === 0;
}

/** Returns the stored bytes with another apiVersion, and with all other fields unchanged. */
export function inVersion(stored: Uint8Array, apiVersion: string): Uint8Array {
  if (isInVersion(stored, apiVersion)) return stored;
  const source = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  // The first `",` ends the apiVersion, because apiVersion is the first field, and its value contains no quotes.
  return Buffer.concat([startOf(apiVersion), source.subarray(source.indexOf('",') + 2)]);
}

/** Parses the bytes of an object, and returns a new object that is not frozen. */
export function decodeObject<T extends ApiObject = ApiObject>(bytes: Buffer): T {
  return JSON.parse(bytes.toString('utf8')) as T;
}

let lastSecond = Number.NaN;
let lastText = '';

/**
 * Returns a timestamp in the format of metadata: RFC 3339, UTC, whole seconds. Caches the text that it returned last,
 * because every write needs a timestamp, and many writes fall into the same second.
 */
export function formatTime(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== lastSecond) {
    lastText = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`;
    lastSecond = second;
  }
  return lastText;
}
