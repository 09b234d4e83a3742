import { ApiError } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { BodySource } from '../registry/registry.ts';
import { objectLimits } from '../decode/body-limits.ts';
import { parseJson } from '../decode/json-body.ts';
import { mediaTypeOf, readText } from './request-body.ts';
import { parseYaml } from '../decode/yaml-body.ts';

/** The request's object, in JSON or YAML; a missing Content-Type is JSON, since `kubectl replace --raw` sends none. */
export async function readObjectBody(context: Context): Promise<BodySource> {
  const type = mediaTypeOf(context);
  if (type !== '' && type !== 'application/json' && type !== 'application/yaml')
    throw unsupported(['application/json', 'application/yaml']);
  const text = await readText(context);
  return type === 'application/yaml' ? () => parseYaml(text, objectLimits) : () => parseJson(text, objectLimits);
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

/** A JSON body of which nothing is known yet; undefined when it is empty. */
export async function readOptionalJson(context: Context): Promise<unknown> {
  const text = await readText(context);
  return text.trim() === '' ? undefined : parseJson(text, objectLimits);
}

export function unsupported(accepted: readonly string[]): ApiError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`;
  return new ApiError('UnsupportedMediaType', message);
}
