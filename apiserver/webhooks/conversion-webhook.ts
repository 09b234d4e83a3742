import { ApiError, isJsonObject, LruCache } from '@homeostat/controller-runtime/api';
import type { ApiObject, JsonObject } from '@homeostat/controller-runtime/api';
import { inBounds } from '../base/in-bounds.ts';
import { toError } from '../base/to-error.ts';
import type { WebhookClientConfig } from '../builtin/objects/webhook-objects.ts';
import { PendingConversion } from '../registry/kinds/pending-conversion.ts';
import type { RemoteConverter } from '../registry/kinds/pending-conversion.ts';
import { decodeObject } from '../registry/object/object-codec.ts';
import type { WebhookClient } from './webhook-client.ts';
import type { WebhookPlaces } from './webhook-places.ts';

/** The time limit of a conversion, the same as in Kubernetes. */
const timeoutMs = 30_000;

/** The maximum number of objects in one call. */
const maxBatch = 100;
/** The approximate maximum number of characters of JSON in one call. */
const maxBatchLength = 1024 * 1024;

/** The maximum size of the cache of converted objects: the bytes of the objects, and the characters of the keys. */
const maxKeptLength = 64 * 1024 * 1024;

/** Converted objects as JSON. The keys consist of the original object and the new version. */
export type KeptConversions = LruCache<string, Buffer>;

/** Returns an empty cache, which all conversion webhooks of a server share. */
export function keepConversions(): KeptConversions {
  return new LruCache({ maxSize: maxKeptLength, sizeOf: (value, key) => value.length + key.length + 1 });
}

export interface ConversionWebhookParts {
  readonly kind: string;
  readonly clientConfig: WebhookClientConfig;
  /** The versions of ConversionReview that the webhook understands. */
  readonly reviewVersions: readonly string[];
  readonly client: WebhookClient;
  readonly places: WebhookPlaces;
  readonly uuid: () => string;
  readonly kept: KeptConversions;
}

/** The conversion webhook of one definition. */
export class ConversionWebhook implements RemoteConverter {
  readonly #parts: ConversionWebhookParts;
  readonly #refused = new Map<string, ApiError>();

  constructor(parts: ConversionWebhookParts) {
    this.#parts = parts;
  }

  /**
   * Returns the object in another version, from the cache.
   * @throws PendingConversion when the cache lacks the result, so the webhook has to be called first
   * @throws ApiError while this conversion is refused: the error that {@link refuse} received
   */
  convert(object: ApiObject, apiVersion: string): ApiObject {
    if (object.apiVersion === apiVersion) return object;
    const key = keyOf(object, apiVersion);
    const known = this.#parts.kept.get(key);
    if (known === undefined) throw this.#refused.get(key) ?? new PendingConversion(object, apiVersion, this);
    return decodeObject(known);
  }

  refuse(object: ApiObject, apiVersion: string, error: ApiError): () => void {
    const key = keyOf(object, apiVersion);
    this.#refused.set(key, error);
    return () => void this.#refused.delete(key);
  }

  async fetch(objects: readonly ApiObject[], apiVersion: string): Promise<void> {
    for (const batch of batchesOf(objects)) await this.#fetchBatch(batch, apiVersion);
  }

  async #fetchBatch(objects: readonly ApiObject[], apiVersion: string): Promise<void> {
    const { kind, kept } = this.#parts;
    const [first] = objects;
    if (first === undefined) return;
    try {
      const converted = await this.#ask(objects, apiVersion);
      for (const [at, object] of objects.entries()) {
        const result = inBounds(converted[at]);
        checkConverted(object, result, { apiVersion, at });
        kept.set(keyOf(object, apiVersion), Buffer.from(JSON.stringify(result)));
      }
    } catch (error) {
      const cause = toError(error);
      const what = `conversion webhook for ${first.apiVersion}, Kind=${kind}`;
      throw new ApiError('InternalError', `Internal error occurred: ${what} failed: ${cause.message}`, { cause });
    }
  }

  async #ask(objects: readonly ApiObject[], desiredAPIVersion: string): Promise<readonly unknown[]> {
    const { client, places, clientConfig, reviewVersions, uuid } = this.#parts;
    const version = reviewVersions.find((each) => each === 'v1' || each === 'v1beta1') ?? 'v1';
    const uid = uuid();
    const body = JSON.stringify({
      kind: 'ConversionReview',
      apiVersion: `apiextensions.k8s.io/${version}`,
      request: { uid, desiredAPIVersion, objects: objects.map(sentForm) },
    });
    const answer = await client.post({ place: places.find(clientConfig), timeoutMs, body });
    return readConverted(answer, { uid, version, count: objects.length });
  }
}

function keyOf(object: ApiObject, apiVersion: string): string {
  return `${apiVersion}\n${JSON.stringify(object)}`;
}

/**
 * Returns the objects in groups, each of at most {@link maxBatch} objects and about {@link maxBatchLength} characters.
 */
function batchesOf(objects: readonly ApiObject[]): readonly (readonly ApiObject[])[] {
  const batches: ApiObject[][] = [[]];
  let length = 0;
  for (const object of objects) {
    const size = JSON.stringify(object).length;
    const batch = inBounds(batches.at(-1));
    if (batch.length > 0 && (batch.length === maxBatch || length + size > maxBatchLength)) {
      batches.push([object]);
      length = size;
    } else {
      batch.push(object);
      length += size;
    }
  }
  return batches;
}

/**
 * Returns the object as the webhook receives it. Leaves out an empty resourceVersion, which an object has until it is
 * stored.
 */
function sentForm(object: ApiObject): object {
  const { resourceVersion, ...metadata } = object.metadata;
  return resourceVersion === '' ? { ...object, metadata } : object;
}

interface Expected {
  readonly uid: string;
  readonly version: string;
  readonly count: number;
}

function readConverted(answer: unknown, { uid, version, count }: Expected): readonly unknown[] {
  const { apiVersion = '', kind = '', response }: JsonObject = isJsonObject(answer) ? answer : {};
  if (!isJsonObject(response)) throw new Error('no response provided');
  const expected = `apiextensions.k8s.io/${version}, Kind=ConversionReview`;
  const got = `${textOf(apiVersion)}, Kind=${textOf(kind)}`;
  if (got !== expected) throw new Error(`expected webhook response of ${expected}, got ${got}`);
  if (response['uid'] !== uid)
    throw new Error(`expected response.uid="${uid}", got ${JSON.stringify(textOf(response['uid']))}`);
  const result = isJsonObject(response['result']) ? response['result'] : {};
  if (result['status'] !== 'Success') {
    const message = textOf(result['message']);
    throw new Error(
      message === '' ? `response.result.status was '${textOf(result['status'])}', not 'Success'` : message,
    );
  }
  const objects = response['convertedObjects'];
  const found = Array.isArray(objects) ? objects : [];
  if (found.length !== count) throw new Error(`the webhook returned ${found.length} objects, expected ${count}`);
  return found;
}

const maxTextLength = 256;

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, maxTextLength) : '';
}

/**
 * The fields by which the server identifies the object, so a conversion must not change them. Of the other metadata, a
 * webhook can change only labels and annotations.
 */
const fixedFields = ['name', 'namespace', 'uid'] as const;

function checkConverted(
  object: ApiObject,
  result: unknown,
  { apiVersion, at }: { readonly apiVersion: string; readonly at: number },
): void {
  const place = `invalid converted object at index ${at}`;
  if (!isJsonObject(result)) throw new Error(`${place}: it is no object`);
  if (result['apiVersion'] !== apiVersion)
    throw new Error(
      `${place}: invalid groupVersion (expected ${apiVersion}, received ${textOf(result['apiVersion'])})`,
    );
  if (result['kind'] !== object.kind)
    throw new Error(`${place}: invalid kind (expected ${object.kind}, received ${textOf(result['kind'])})`);
  const metadata: JsonObject = isJsonObject(result['metadata']) ? result['metadata'] : {};
  for (const field of fixedFields) {
    const before = object.metadata[field] ?? '';
    const after = metadata[field] ?? '';
    if (before !== after) throw new Error(`${place}: must have the same ${field}: ${before} != ${textOf(after)}`);
  }
}
