import { ApiError } from '@homeostat/controller-runtime/api';
import type { ObjectList } from '@homeostat/controller-runtime/api';
import type { Entry } from '../../index/entry.ts';
import type { Resource } from '../kinds/resource.ts';

export interface ListPageParts {
  readonly resource: Resource;
  readonly entries: readonly Entry[];
  /** The number of all objects that match the request, on all pages. */
  readonly total: number;
  readonly revision: number;
  /** The number of the page. The first page is 1, which is the default. */
  readonly page?: number;
  /** The size of the page. Default 0: the list is not divided into pages. */
  readonly size?: number;
  /** The continue token, when there are more matches. */
  readonly token?: string;
  /**
   * The number of matches on later pages. Present only beside a continue token, and only for a list without selectors,
   * as in Kubernetes.
   */
  readonly remaining?: number;
}

/** The response to one list request: its entries and the fields around them (objects-and-http "Lists"). */
export class ListPage {
  readonly entries: readonly Entry[];
  readonly #parts: ListPageParts;

  constructor(parts: ListPageParts) {
    this.entries = parts.entries;
    this.#parts = parts;
  }

  /** Returns all fields of the response except the items. */
  envelope(): Omit<ObjectList, 'items'> {
    const { resource, total, revision, page = 1, size = 0, token, remaining } = this.#parts;
    const totalPages = size === 0 ? 1 : Math.ceil(total / size);
    const resourceVersion = String(revision);
    const left = remaining === undefined ? {} : { remainingItemCount: remaining };
    return {
      apiVersion: resource.apiVersion,
      kind: `${resource.model.kind}List`,
      metadata: token === undefined ? { resourceVersion } : { resourceVersion, continue: token, ...left },
      page,
      size,
      total,
      totalPages,
      first: page === 1,
      last: page >= totalPages,
      hasNext: page < totalPages,
      hasPrevious: page > 1,
    };
  }

  /** True when no object had to be converted for this list, because the list is in the storage version. */
  get isStored(): boolean {
    return this.#parts.resource.view === undefined;
  }

  /**
   * Throws ApiError Expired when a change after the list's revision has been dropped from the history. Until then, the
   * history keeps the objects of the list in memory, and counts their bytes. Afterwards, only the list of a slow client
   * would keep them in memory, and nothing would count their bytes.
   */
  checkKept(): void {
    const { resource, revision } = this.#parts;
    if (revision < resource.feed.floor)
      throw new ApiError('Expired', `the list of revision ${revision} took too long to read`);
  }
}
