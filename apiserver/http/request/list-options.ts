import { ApiError, parseFieldSelector, parseLabelSelector } from '@homeostat/controller-runtime/api';
import type { ListRequest } from '../../registry/reads/lister.ts';
import { parseSort } from '../../registry/object/sort-term.ts';
import { parseRevision } from '../../registry/history/revisions.ts';
import { allOf, choiceOf, firstOf, integerOf, refuse } from './query.ts';
import type { QueryParameters } from './query.ts';

/** Returns the selectors of a list or watch. Throws a 400 for invalid values. */
export function readSelection(query: QueryParameters): Pick<ListRequest, 'labelSelector' | 'fieldSelector'> {
  return {
    labelSelector: parseLabelSelector(allOf(query, 'labelSelector')),
    fieldSelector: parseFieldSelector(allOf(query, 'fieldSelector')),
  };
}

/** Returns all parameters of a list (objects-and-http "Lists"). */
export function readListOptions(query: QueryParameters): ListRequest {
  const page = readPage(query);
  const chunk = readChunk(query);
  if (page !== undefined && chunk !== undefined) {
    throw new ApiError('BadRequest', 'neither page nor size can be used together with limit or continue');
  }
  const resourceVersion = firstOf(query, 'resourceVersion');
  const sort = parseSort(allOf(query, 'sort').filter((term) => term !== ''));
  const { labelSelector, fieldSelector } = readSelection(query);
  const { exact } = readMatch(query, resourceVersion);
  return { sort, labelSelector, fieldSelector, page, chunk, resourceVersion, exact };
}

function readPage(query: QueryParameters): ListRequest['page'] {
  const page = integerOf(query, 'page', 1);
  const size = integerOf(query, 'size', 0);
  return page === undefined && size === undefined ? undefined : { page: page ?? 1, size: size ?? 0 };
}

function readChunk(query: QueryParameters): ListRequest['chunk'] {
  const limit = readLimit(query);
  const token = firstOf(query, 'continue');
  if (limit === undefined && token === undefined) return undefined;
  return { limit: limit ?? 0, ...(token === undefined ? {} : { token }) };
}

/** Returns the limit of a list. A negative limit means no limit, as in kube-apiserver. */
function readLimit(query: QueryParameters): number | undefined {
  return /^-\d{1,15}$/.test(firstOf(query, 'limit') ?? '') ? 0 : integerOf(query, 'limit', 0);
}

function readMatch(query: QueryParameters, resourceVersion: string | undefined): Pick<ListRequest, 'exact'> {
  const options = 'ListOptions';
  const match = choiceOf(query, { name: 'resourceVersionMatch', supported: ['Exact', 'NotOlderThan'], options });
  const token = firstOf(query, 'continue');
  if (firstOf(query, 'sendInitialEvents') !== undefined) {
    throw refuse(options, 'sendInitialEvents', {
      reason: 'FieldValueForbidden',
      message: 'Forbidden: sendInitialEvents is forbidden for list',
    });
  }
  if (token !== undefined && resourceVersion !== undefined && resourceVersion !== '0') {
    throw new ApiError('BadRequest', 'specifying resource version is not allowed when using continue');
  }
  if (resourceVersion !== undefined) parseRevision(resourceVersion);
  // By a legacy rule of Kubernetes, a limit with a resourceVersion and without resourceVersionMatch means exactly that
  // revision.
  const legacyExact = firstOf(query, 'limit') !== undefined && resourceVersion !== undefined && resourceVersion !== '0';
  if (match === undefined) return legacyExact && readLimit(query) !== 0 ? { exact: true } : {};
  const forbidden = forbiddenMatch(match, resourceVersion, token);
  if (forbidden !== undefined) {
    throw refuse(options, 'resourceVersionMatch', {
      reason: 'FieldValueForbidden',
      message: `Forbidden: ${forbidden}`,
    });
  }
  return match === 'Exact' ? { exact: true } : {};
}

function forbiddenMatch(
  match: string,
  resourceVersion: string | undefined,
  token: string | undefined,
): string | undefined {
  if (token !== undefined) return 'resourceVersionMatch is forbidden when continue is provided';
  if (resourceVersion === undefined) return 'resourceVersionMatch is forbidden unless resourceVersion is provided';
  if (match === 'Exact' && resourceVersion === '0')
    return 'resourceVersionMatch "Exact" is forbidden for resourceVersion "0"';
  return undefined;
}
