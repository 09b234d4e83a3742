import { ApiError, strategicMergeDirective } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { BodyCodec } from '../../decode/body-codec.ts';
import { readContentType } from '../../decode/read-body.ts';
import type { PatchBody } from '../../registry/writes/write-options.ts';
import { receiveBody, unsupported } from './object-body.ts';

const strategicType = 'application/strategic-merge-patch+json';

export const patchTypes: readonly string[] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  strategicType,
];

/**
 * Reads a patch by its media type. A strategic merge patch without directives counts as a merge patch. Throws a 415 for
 * a media type that is not in {@link patchTypes}, and for a strategic merge patch with directives. The 415 lists the
 * media types that the path accepts (`takes`); if the patch has directives, the list does not contain the strategic
 * merge patch.
 */
export async function readPatch(context: Context, bodies: BodyCodec, takes: readonly string[]): Promise<PatchBody> {
  const type = readContentType(context.headers['content-type']);
  if (!patchTypes.includes(type)) throw unsupported(takes);
  const body = await receiveBody(context, bodies, 'json');
  const isLarge = body.isLarge === true;
  const patch = body();
  if (type === 'application/json-patch+json') return { type: 'json', operations: patch, isLarge };
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) {
    throw new ApiError('BadRequest', 'error decoding patch: a merge patch must be an object');
  }
  const directive = type === strategicType ? strategicMergeDirective(patch) : undefined;
  if (directive !== undefined) throw unsupported(takes.filter((each) => each !== strategicType));
  return { type: 'merge', patch, isLarge };
}
