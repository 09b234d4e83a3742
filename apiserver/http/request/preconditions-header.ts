import { ApiError, parsePreconditions, preconditionsHeader } from '@homeostat/controller-runtime/api';
import type { Preconditions } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { quote } from './query.ts';

/** The preconditions of a PATCH, by its header. Throws ApiError BadRequest for a header that cannot be read. */
export function readPreconditionsHeader({ headers }: Pick<Context, 'headers'>): {
  readonly preconditions?: Preconditions;
} {
  const header = headers[preconditionsHeader];
  if (header === undefined) return {};
  const text = String(header);
  const preconditions = parsePreconditions(text);
  if (preconditions !== undefined) return { preconditions };
  const form = 'uid=<uid>, resourceVersion=<revision>, or both with & between them';
  throw new ApiError('BadRequest', `header Homeostat-Preconditions: Invalid value: ${quote(text)}: must be ${form}`);
}
