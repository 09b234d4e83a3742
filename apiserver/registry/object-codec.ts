import type { ApiObject } from '@homeostat/controller-runtime/api';

/**
 * Stored bytes hold no resourceVersion: it is the commit's revision, which is not known before the commit. It is spliced
 * in once, as the first field of metadata, when the commit has answered; what is in memory is what goes over the wire.
 */
const metadataMarker = Buffer.from('"metadata":{');

/** The bytes to store: apiVersion, kind and metadata first, resourceVersion left out. */
export function encodeObject(object: ApiObject): Buffer {
  const { apiVersion, kind, metadata } = object;
  // Field by field: one copy of the object less than by stringifying a reordered one.
  let text = `{"apiVersion":${JSON.stringify(apiVersion)},"kind":${JSON.stringify(kind)}`;
  text += `,"metadata":${JSON.stringify({ ...metadata, resourceVersion: undefined })}`;
  for (const [field, value] of Object.entries(object)) {
    if (value !== undefined && !envelope.has(field)) text += `,${JSON.stringify(field)}:${JSON.stringify(value)}`;
  }
  return Buffer.from(`${text}}`);
}

const envelope: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** The bytes to serve. They stand in memory of their own: `Buffer.from` would pin blocks of a shared pool. */
export function withRevision(stored: Uint8Array, revision: number): Buffer {
  const source = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  // apiVersion and kind were checked against the model: they hold no quote, so the first match is the real one.
  const at = source.indexOf(metadataMarker) + metadataMarker.length;
  const field = `"resourceVersion":"${revision}",`;
  const bytes = Buffer.allocUnsafeSlow(source.length + field.length);
  source.copy(bytes, 0, 0, at);
  bytes.write(field, at, 'latin1');
  source.copy(bytes, at + field.length, at);
  return bytes;
}

/** A fresh, unfrozen object for one request to work on. */
export function decodeObject<T extends ApiObject = ApiObject>(bytes: Buffer): T {
  return JSON.parse(bytes.toString('utf8')) as T;
}
