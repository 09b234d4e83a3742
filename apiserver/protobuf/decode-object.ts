import { malformed } from './malformed.ts';
import { decodeMessage } from './message.ts';
import type { Message } from './message.ts';
import { readFields } from './wire-fields.ts';

/** The media type that Go clients send for the built-in kinds of Kubernetes. */
export const protobufType = 'application/vnd.kubernetes.protobuf';

export const magic: Buffer = Buffer.from('k8s\0');

export const typeMeta: Message = new Map([
  [1, { name: 'apiVersion', type: 'string' }],
  [2, { name: 'kind', type: 'string' }],
]);

/**
 * Decodes a body of the type {@link protobufType}: four bytes, then an envelope with apiVersion, kind and the encoded
 * object.
 * @throws ApiError BadRequest when the body has another format
 */
export function decodeProtobufObject(message: Message, body: Buffer): Record<string, unknown> {
  if (!body.subarray(0, magic.length).equals(magic))
    throw malformed('the body does not begin with "k8s" and a zero byte');
  let type: Record<string, unknown> = {};
  let raw: Buffer = Buffer.alloc(0);
  for (const field of readFields(body.subarray(magic.length))) {
    if (field.kind !== 'bytes') continue;
    if (field.number === 1) type = decodeMessage(typeMeta, field.value);
    if (field.number === 2) raw = field.value;
    if (field.number === 3 && field.value.length > 0)
      throw malformed('the contentEncoding field of the body must be empty');
  }
  return { ...decodeMessage(message, raw), ...type };
}
