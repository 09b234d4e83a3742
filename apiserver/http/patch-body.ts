import { ApiError, strategicMergeDirective } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { objectLimits } from '../decode/body-limits.ts';
import { parseJson } from '../decode/json-body.ts';
import type { PatchBody } from '../registry/registry.ts';
import { unsupported } from './object-body.ts';
import { mediaTypeOf, readText } from './request-body.ts';

const strategicType = 'application/strategic-merge-patch+json';

/** Server-side apply. */
export const applyType = 'application/apply-patch+yaml';

export const patchTypes: readonly string[] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  strategicType,
];

/**
 * A patch by its media type; a strategic merge patch is taken as a merge patch where it is one. A 415 names what the path
 * `takes`.
 */
export async function readPatch(context: Context, takes: readonly string[]): Promise<PatchBody> {
  const type = mediaTypeOf(context);
  if (!patchTypes.includes(type)) throw unsupported(takes);
  const patch = parseJson(await readText(context), objectLimits);
  if (type === 'application/json-patch+json') return { type: 'json', operations: patch };
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) {
    throw new ApiError('BadRequest', 'error decoding patch: a merge patch must be an object');
  }
  const directive = type === strategicType ? strategicMergeDirective(patch) : undefined;
  if (directive !== undefined) throw unsupported(takes.filter((each) => each !== strategicType));
  return { type: 'merge', patch };
}
