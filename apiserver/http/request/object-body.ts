import { ApiError } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { BodyCodec, BodySource } from '../../decode/body-codec.ts';
import type { BodyFormat } from '../../decode/decode-body.ts';
import { isBlank } from '../../decode/is-blank.ts';
import { readBody } from '../../decode/read-body.ts';
import { protobufType } from '../../protobuf/decode-object.ts';
import type { Message } from '../../protobuf/message.ts';
import { mediaTypeOf } from './request-body.ts';

const objectTypes = ['application/json', 'application/yaml'];

/**
 * The request's object, in JSON or YAML, and in protobuf where the kind has a `message`. A missing Content-Type is JSON,
 * since `kubectl replace --raw` sends none.
 */
export async function readObjectBody(context: Context, bodies: BodyCodec, message?: Message): Promise<BodySource> {
  const type = mediaTypeOf(context);
  const isProtobuf = type === protobufType && message !== undefined;
  if (!isProtobuf && type !== '' && !objectTypes.includes(type)) {
    throw unsupported(message === undefined ? objectTypes : [...objectTypes, protobufType]);
  }
  return receiveBody(context, bodies, isProtobuf ? message : textFormatOf(context));
}

/** The request's body in a format that is known. */
export async function receiveBody(context: Context, bodies: BodyCodec, format: BodyFormat): Promise<BodySource> {
  return bodies.decode(await readBody(context, bodies.memory), format, context.res);
}

/** An applied object, in YAML or JSON. */
export async function readAppliedBody(context: Context, bodies: BodyCodec): Promise<BodySource> {
  return receiveBody(context, bodies, 'applied');
}

/** A body of which nothing is known yet, JSON unless it says that it is YAML or protobuf; undefined when it is empty. */
export async function readOptionalBody(context: Context, bodies: BodyCodec, message: Message): Promise<unknown> {
  const isProtobuf = mediaTypeOf(context) === protobufType;
  const bytes = await readBody(context, bodies.memory);
  if (isProtobuf ? bytes.length === 0 : isBlank(bytes)) return undefined;
  const body = await bodies.decode(bytes, isProtobuf ? message : textFormatOf(context), context.res);
  return body();
}

function textFormatOf(context: Context): BodyFormat {
  return mediaTypeOf(context) === 'application/yaml' ? 'yaml' : 'json';
}

export function unsupported(accepted: readonly string[]): ApiError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`;
  return new ApiError('UnsupportedMediaType', message);
}
