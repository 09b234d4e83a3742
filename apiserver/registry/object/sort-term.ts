import { ApiError } from '@homeostat/controller-runtime/api';
import type { SortRequest } from '../../index/queries/query.ts';
import { clip } from './resource-errors.ts';

const maxSortTerms = 8;

/**
 * Parses sort terms `<field>` or `<field>,<asc|desc>`, of which the first has the highest priority. @throws ApiError
 * BadRequest for another format, and for more than 8 terms
 */
export function parseSort(terms: readonly string[]): readonly SortRequest[] {
  if (terms.length > maxSortTerms) throw new ApiError('BadRequest', `sort: at most ${maxSortTerms} fields`);
  return terms.map(parseTerm);
}

function parseTerm(text: string): SortRequest {
  const comma = text.indexOf(',');
  const field = (comma < 0 ? text : text.slice(0, comma)).trim();
  const direction =
    comma < 0
      ? undefined
      : text
          .slice(comma + 1)
          .trim()
          .toLowerCase();
  if (field === '')
    throw new ApiError('BadRequest', `sort: Invalid value: ${JSON.stringify(clip(text))}: names no field`);
  if (direction === undefined) return { field };
  if (direction === 'asc' || direction === 'desc') return { field, direction };
  throw new ApiError(
    'BadRequest',
    `sort: Invalid value: ${JSON.stringify(clip(text))}: the direction must be asc or desc`,
  );
}
