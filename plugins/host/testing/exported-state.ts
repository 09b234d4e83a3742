import { ExportReader } from '@homeostat/apiserver';
import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { createHash } from 'node:crypto';

/** The key prefixes of objects that are no effects of a plugin: leases, events, and the service's own kinds. */
const leftOut = [
  '/registry/coordination.k8s.io/leases/',
  '/registry/events.k8s.io/',
  '/registry//events/',
  '/registry/plugin.',
  '/registry/vault.',
  '/registry/controllers.',
];

const firstBrace = '{'.charCodeAt(0);

/** Returns the digest of each unencrypted object in an export, except {@link leftOut}, by the key of the object. */
export async function digestsOf(text: AsyncIterable<Uint8Array | string>): Promise<ReadonlyMap<string, string>> {
  const digests = new Map<string, string>();
  for await (const { key, data } of objectsIn(text))
    digests.set(key, createHash('sha256').update(data).digest('base64'));
  return digests;
}

/** Returns the objects of an export that have the given keys. */
export async function pickObjects(
  text: AsyncIterable<Uint8Array | string>,
  keys: ReadonlySet<string>,
): Promise<ReadonlyMap<string, ApiObject>> {
  const picked = new Map<string, ApiObject>();
  for await (const { key, data } of objectsIn(text)) {
    const object: unknown = keys.has(key) ? JSON.parse(Buffer.from(data).toString('utf8')) : undefined;
    if (isApiObject(object)) picked.set(key, object);
  }
  return picked;
}

async function* objectsIn(
  text: AsyncIterable<Uint8Array | string>,
): AsyncGenerator<{ readonly key: string; readonly data: Uint8Array }, void, undefined> {
  const reader = new ExportReader();
  for await (const piece of text) {
    for (const object of reader.push(typeof piece === 'string' ? Buffer.from(piece) : piece))
      if (object.data[0] === firstBrace && !leftOut.some((prefix) => object.key.startsWith(prefix))) yield object;
  }
  reader.end();
}

function isApiObject(value: unknown): value is ApiObject {
  return isJsonObject(value) && isJsonObject(value['metadata']) && typeof value['kind'] === 'string';
}
