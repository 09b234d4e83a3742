import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { JsonObject } from '@homeostat/controller-runtime/api';
import { magic, typeMeta } from './decode-object.ts';
import { bytesField, encodeMessage } from './encode-message.ts';
import { answerMessageOf, listMetaMessage, watchEventMessage } from './object-messages.ts';

/**
 * Encodes an object of a built-in kind of Kubernetes, or a Status, for a client that accepts only protobuf. @throws
 * Error when the kind has no protobuf message
 */
export function encodeProtobufObject(object: JsonObject): Buffer {
  const { apiVersion, kind } = object;
  const message = answerMessageOf(String(apiVersion), String(kind));
  if (message === undefined) throw new Error(`${String(apiVersion)} ${String(kind)} has no protobuf message`);
  return enveloped({ apiVersion, kind }, encodeMessage(message, object));
}

/** Encodes a list, whose items were encoded by {@link encodeItem}. */
export function encodeProtobufList({ apiVersion, kind, metadata }: JsonObject, items: readonly Buffer[]): Buffer {
  const meta = encodeMessage(listMetaMessage, isJsonObject(metadata) ? metadata : {});
  const raw = Buffer.concat([bytesField(1, meta), ...items.map((item) => bytesField(2, item))]);
  return enveloped({ apiVersion, kind }, raw);
}

/**
 * Encodes an object as an item of a list: without the envelope that a single object has (magic bytes, `apiVersion` and
 * `kind`), because the list has one envelope for all items.
 */
export function encodeItem(object: JsonObject): Buffer {
  const message = answerMessageOf(String(object['apiVersion']), String(object['kind']));
  return message === undefined ? Buffer.alloc(0) : encodeMessage(message, object);
}

/** Encodes an event of a watch: its length in four bytes, and the event with the object in its envelope. */
export function encodeProtobufEvent(type: string, object: JsonObject): Buffer {
  const raw = encodeProtobufObject(object);
  const event = Buffer.concat([encodeMessage(watchEventMessage, { type }), bytesField(2, bytesField(1, raw))]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(event.length);
  return Buffer.concat([length, event]);
}

function enveloped(type: JsonObject, raw: Buffer): Buffer {
  return Buffer.concat([magic, bytesField(1, encodeMessage(typeMeta, type)), bytesField(2, raw)]);
}
