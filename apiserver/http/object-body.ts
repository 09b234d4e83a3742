import { ApiError } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { objectLimits } from '../decode/body-limits.ts';
import { parseJson } from '../decode/json-body.ts';
import { readBody } from '../decode/read-body.ts';
import { parseYaml } from '../decode/yaml-body.ts';
import { decodeProtobufObject, protobufType } from '../protobuf/decode-object.ts';
import type { Message } from '../protobuf/message.ts';
import type { BodySource } from '../registry/registry.ts';
import { mediaTypeOf, readText } from './request-body.ts';

const objectTypes = ['application/json', 'application/yaml'];

/**
 * The request's object, in JSON or YAML, and in protobuf where the kind has a `message`. A missing Content-Type is JSON,
 * since `kubectl replace --raw` sends none.
 */
export async function readObjectBody(context: Context, message?: Message): Promise<BodySource> {
  const type = mediaTypeOf(context);
  if (type === protobufType && message !== undefined) {
    const bytes = await readBody(context.req);
    return () => decodeProtobufObject(message, bytes);
  }
  if (type !== '' && !objectTypes.includes(type)) {
    throw unsupported(message === undefined ? objectTypes : [...objectTypes, protobufType]);
  }
  const text = await readText(context);
  return () => parseText(context, text);
}

/** An applied object. It is YAML, of which JSON is a part: most clients send that, and it is faster to read. */
export async function readAppliedBody(context: Context): Promise<BodySource> {
  const text = await readText(context);
  return () => {
    if (text.trimStart().startsWith('{')) {
      try {
        return parseJson(text, objectLimits);
      } catch {
        // YAML in braces; or broken, and then this is what tells where.
      }
    }
    return parseYaml(text, objectLimits);
  };
}

/** A body of which nothing is known yet, JSON unless it says that it is YAML or protobuf; undefined when it is empty. */
export async function readOptionalBody(context: Context, message: Message): Promise<unknown> {
  if (mediaTypeOf(context) === protobufType) {
    const bytes = await readBody(context.req);
    return bytes.length === 0 ? undefined : decodeProtobufObject(message, bytes);
  }
  const text = await readText(context);
  return text.trim() === '' ? undefined : parseText(context, text);
}

function parseText(context: Context, text: string): unknown {
  return mediaTypeOf(context) === 'application/yaml' ? parseYaml(text, objectLimits) : parseJson(text, objectLimits);
}

export function unsupported(accepted: readonly string[]): ApiError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`;
  return new ApiError('UnsupportedMediaType', message);
}
