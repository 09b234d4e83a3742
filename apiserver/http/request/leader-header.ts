import { ApiError, leaderHeader, parseLeaderEpoch } from '@homeostat/controller-runtime/api';
import type { LeaderEpoch } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { quote } from './query.ts';

/** As which leader a request writes, by its header. Throws ApiError BadRequest for one that cannot be read. */
export function readLeader({ headers }: Pick<Context, 'headers'>): { readonly leader?: LeaderEpoch } {
  const header = headers[leaderHeader];
  if (header === undefined) return {};
  const text = String(header);
  const leader = parseLeaderEpoch(text);
  if (leader !== undefined) return { leader };
  const form = '<namespace>/<name>/<uid>/<transitions> of a Lease';
  throw new ApiError('BadRequest', `header Homeostat-Leader: Invalid value: ${quote(text)}: must be ${form}`);
}
