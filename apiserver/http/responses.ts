import { dump } from 'js-yaml';
import type { Context } from 'koa';
import type { Format } from './accept.ts';

/** Answers with JSON bytes as they are, or as YAML when the client asked for that. */
export function sendBytes(context: Context, json: Buffer, format: Format): void {
  if (context.response.status === 404) context.status = 200;
  context.set('Cache-Control', 'no-cache, private');
  if (format === 'yaml') {
    context.set('Content-Type', 'application/yaml');
    context.body = Buffer.from(dump(JSON.parse(json.toString('utf8'))));
    return;
  }
  // Not context.type: it would add a charset, which JSON has none of.
  context.set('Content-Type', 'application/json');
  context.body = json;
}

/** Answers with a value as JSON. */
export function sendJson(context: Context, value: unknown): void {
  sendBytes(context, Buffer.from(JSON.stringify(value)), 'json');
}
