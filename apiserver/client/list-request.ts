import type { ListOptions } from '@homeostat/controller-runtime';
import { ApiError, parseFieldSelector, parseLabelSelector } from '@homeostat/controller-runtime/api';
import type { ListRequest } from '../registry/reads/lister.ts';
import { parseSort } from '../registry/object/sort-term.ts';

/** Checks the options of a list, and returns the request that they describe. @throws ApiError BadRequest */
export function listRequest(options: ListOptions): ListRequest {
  const { page, size, limit, sort = [], namespace, resourceVersion } = options;
  const paged = page !== undefined || size !== undefined;
  const chunked = limit !== undefined || options.continue !== undefined;
  if (paged && chunked)
    throw new ApiError('BadRequest', 'neither page nor size can be used together with limit or continue');
  checkWhole('page', page, 1);
  checkWhole('size', size, 0);
  checkWhole('limit', limit, 0);
  return {
    labelSelector: parseLabelSelector(options.labelSelector ?? ''),
    fieldSelector: parseFieldSelector(options.fieldSelector ?? ''),
    sort: parseSort(typeof sort === 'string' ? [sort] : sort),
    ...(namespace === undefined ? {} : { namespace }),
    ...(paged ? { page: { page: page ?? 1, size: size ?? 0 } } : {}),
    ...(chunked
      ? { chunk: { limit: limit ?? 0, ...(options.continue === undefined ? {} : { token: options.continue }) } }
      : {}),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(options.resourceVersionMatch === 'Exact' ? { exact: true } : {}),
  };
}

function checkWhole(name: string, value: number | undefined, least: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return;
  throw new ApiError('BadRequest', `${name}: Invalid value: ${value}: must be a whole number of at least ${least}`);
}
