import { isUtf8 } from 'node:buffer';
import { ApiError } from '@homeostat/controller-runtime/api';
import { decodeProtobufObject } from '../protobuf/decode-object.ts';
import type { Message } from '../protobuf/message.ts';
import { objectLimits } from '../limits/body-limits.ts';
import { checkCounts } from '../limits/count-nodes.ts';
import { parseJson } from './json-body.ts';
import { parseYaml } from './yaml-body.ts';

/** The format of a body: `applied` is YAML, which includes JSON; a message is protobuf. */
export type BodyFormat = 'json' | 'yaml' | 'applied' | Message;

/** Returns the value of a body, within the limits of objects. @throws ApiError BadRequest, RequestEntityTooLarge */
export function decodeBody(bytes: Buffer, format: BodyFormat): unknown {
  if (typeof format !== 'string') return withinLimits(decodeProtobufObject(format, bytes));
  const text = textOf(bytes);
  if (format === 'json') return parseJson(text, objectLimits);
  return format === 'yaml' ? parseWholeYaml(text) : parseApplied(text);
}

/** Returns the text of a body. @throws ApiError BadRequest for bytes that are not UTF-8. */
export function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new ApiError('BadRequest', 'the body is not valid UTF-8');
  return bytes.toString('utf8');
}

/** Parses JSON or YAML. It tries JSON first: most clients send it, and it is faster to read. */
function parseApplied(text: string): unknown {
  if (!text.trimStart().startsWith('{')) return parseWholeYaml(text);
  try {
    return parseJson(text, objectLimits);
  } catch (error) {
    if (error instanceof ApiError && error.reason === 'RequestEntityTooLarge') throw error;
    // The text is YAML in braces; or it is broken, and the YAML parser reports the place.
    return parseWholeYaml(text);
  }
}

function parseWholeYaml(text: string): unknown {
  return withinLimits(parseYaml(text, objectLimits));
}

function withinLimits(value: unknown): unknown {
  checkCounts(value, objectLimits);
  return value;
}
