import type { Readable } from 'node:stream';
import type { Context } from 'koa';
import { formatYaml } from '../../decode/format-yaml.ts';
import { clip } from '../../registry/object/resource-errors.ts';
import type { Format } from '../request/accept.ts';

/** Answers with JSON bytes as they are, or as YAML when the client asked for that. */
export function sendBytes(context: Context, json: Buffer, format: Format): void {
  if (format === 'yaml') return setYaml(context, Buffer.from(formatYaml(json.toString('utf8'), 'document')));
  if (context.response.status === 404) context.status = 200;
  context.set('Cache-Control', 'no-cache, private');
  // Not context.type: it would add a charset, which JSON has none of.
  context.set('Content-Type', 'application/json');
  context.body = json;
}

/** Sends YAML. */
export function setYaml(context: Context, yaml: Buffer | Readable): void {
  if (context.response.status === 404) context.status = 200;
  context.set('Cache-Control', 'no-cache, private');
  context.set('Content-Type', 'application/yaml');
  context.body = yaml;
}

/** Answers with a value as JSON. */
export function sendJson(context: Context, value: unknown): void {
  sendBytes(context, Buffer.from(JSON.stringify(value)), 'json');
}

/** All Warning headers of one answer, in characters; clients limit the size of a header as well. */
const maxWarningsLength = 4096;

/** One `Warning` header a warning (RFC 9111, code 299), in printable ASCII whatever the client's field names are. */
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
