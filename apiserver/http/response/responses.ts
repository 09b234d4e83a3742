import type { Readable } from 'node:stream';
import type { Context } from 'koa';
import { formatYaml } from '../../decode/format-yaml.ts';
import { protobufType } from '../../protobuf/decode-object.ts';
import { encodeProtobufObject } from '../../protobuf/encode-object.ts';
import { decodeObject } from '../../registry/object/object-codec.ts';
import { clip } from '../../registry/object/resource-errors.ts';
import type { ResponseFormat } from '../request/accept.ts';

/** Sends the JSON of an object in the given format: unchanged, or converted to YAML or protobuf. */
export function sendBytes(context: Context, json: Buffer, format: ResponseFormat): void {
  if (format === 'yaml') return setYaml(context, Buffer.from(formatYaml(json.toString('utf8'), 'document')));
  if (format === 'protobuf') return setProtobuf(context, encodeProtobufObject({ ...decodeObject(json) }));
  if (context.status === 404) context.status = 200;
  context.set('Cache-Control', 'no-cache, private');
  // context.type is not used, because it would add a charset, which JSON does not have.
  context.set('Content-Type', 'application/json');
  context.body = json;
}

export function setYaml(context: Context, yaml: Buffer | Readable): void {
  if (context.status === 404) context.status = 200;
  context.set('Cache-Control', 'no-cache, private');
  context.set('Content-Type', 'application/yaml');
  context.body = yaml;
}

/** Sends protobuf. */
export function setProtobuf(context: Context, body: Buffer): void {
  if (context.status === 404) context.status = 200;
  context.set('Cache-Control', 'no-cache, private');
  context.set('Content-Type', protobufType);
  context.body = body;
}

/** Sends a value as JSON. */
export function sendJson(context: Context, value: unknown): void {
  sendBytes(context, Buffer.from(JSON.stringify(value)), 'json');
}

/**
 * The maximum length of all Warning headers of one response, in characters, because clients limit the size of headers.
 */
const maxWarningsLength = 4096;

/**
 * Sets one `Warning` header for each warning (RFC 9111, code 299), until all headers together would exceed {@link
 * maxWarningsLength}. Each header consists of printable ASCII, even if the names of fields in the warning do not.
 */
export function setWarnings(context: Context, warnings: readonly string[]): void {
  let length = 0;
  for (const warning of warnings) {
    const value = `299 - ${JSON.stringify(clip(warning)).replace(/[^\x20-\x7e]/g, escapeUnit)}`;
    length += value.length;
    if (length > maxWarningsLength) return;
    context.append('Warning', value);
  }
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
