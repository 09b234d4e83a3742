import type { Selector } from '@homeostat/controller-runtime/api';
import { formatContinueToken, parseContinueToken } from '../../index/queries/continue-token.ts';
import type { Entry } from '../../index/entry.ts';
import { prepareQuery } from '../../index/queries/prepare-query.ts';
import { compileQuery, matches } from '../../index/queries/query.ts';
import type { Query, SortRequest } from '../../index/queries/query.ts';
import { select } from '../../index/queries/select.ts';
import { selectInTurns } from '../../index/queries/select-in-turns.ts';
import { afterwards } from '../../turns/steps.ts';
import { ListPage } from './list-page.ts';
import type { ListPageParts } from './list-page.ts';
import type { Resource } from '../kinds/resource.ts';
import { parseRevision } from '../history/revisions.ts';
import type { Revisions } from '../history/revisions.ts';

/** The parameters that select objects and sort them. */
export interface SelectionRequest {
  readonly labelSelector: Selector;
  readonly fieldSelector: Selector;
  /** The namespace of the objects; without it, objects of all namespaces are selected. */
  readonly namespace?: string;
  /**
   * The sort terms. When empty: creationTimestamp, newest first. Objects with equal values are in the order of their
   * names.
   */
  readonly sort: readonly SortRequest[];
}

/** All parameters of a list (objects-and-http "Lists"). */
export interface ListRequest extends SelectionRequest {
  /** The number of the page, from 1, and its size. With size 0, page 1 has all objects, and further pages are empty. */
  readonly page?: { readonly page: number; readonly size: number } | undefined;
  /** The parameters `limit` and `continue` of Kubernetes; limit 0 returns all objects, or all that remain. */
  readonly chunk?: { readonly limit: number; readonly token?: string } | undefined;
  readonly resourceVersion?: string | undefined;
  /** True when the list must have exactly the revision `resourceVersion`, and not a later one. */
  readonly exact?: boolean | undefined;
}

/** A parsed selection of the objects of one kind. */
export interface Selection {
  readonly selects: (entry: Entry) => boolean;
  /**
   * A text that is the same for selections with the same selectors, namespace and sort terms; empty when all objects
   * are selected.
   */
  readonly key: string;
  /**
   * Builds the missing indexes that the selection needs on a large kind, in many turns of the event loop. Returns
   * undefined when no index is missing.
   */
  prepare(): Promise<void> | undefined;
  /**
   * Returns the entries of the selected objects, in the storage version. Builds missing indexes in the current turn of
   * the event loop.
   */
  entries(): readonly Entry[];
  /**
   * Returns the entries that are selected at the time of the call; takes several turns of the event loop if there are
   * many.
   */
  collect(): readonly Entry[] | Promise<readonly Entry[]>;
}

export interface ListerParts {
  readonly revisions: Revisions;
  /** The epoch of the database. Continue tokens contain it, so that a token of an earlier epoch is refused. */
  readonly epoch: string;
}

/** Executes list requests. */
export class Lister {
  readonly #parts: ListerParts;

  constructor(parts: ListerParts) {
    this.#parts = parts;
  }

  async list(resource: Resource, request: ListRequest): Promise<ListPage> {
    const query = compileQuery(resource.cache, request);
    const { resourceVersion, chunk } = request;
    if (chunk?.token !== undefined) return this.#nextChunk(resource, query, { limit: chunk.limit, token: chunk.token });
    const reached = this.#parts.revisions.reach(resourceVersion);
    if (reached !== undefined) await reached;
    const prepared = prepareQuery(resource.cache, query);
    if (prepared !== undefined) await prepared;
    resource.checkServed();
    const revision = request.exact === true ? parseRevision(resourceVersion ?? '') : this.#parts.revisions.current;
    if (chunk !== undefined && chunk.limit > 0)
      return this.#chunk(resource, query, { limit: chunk.limit, revision, offset: 0 });
    if (request.exact === true) {
      const { entries, total } = await resource.history.selectInTurns(query, revision);
      return listPage({ resource, entries, total, revision });
    }
    return this.#page(resource, query, { revision, page: request.page?.page, size: request.page?.size });
  }

  select(resource: Resource, request: SelectionRequest): Selection {
    const query = compileQuery(resource.cache, request);
    return {
      selects: (entry) => matches(query, entry),
      key: query.conditions.length === 0 && !query.isEmpty ? '' : query.canonical,
      prepare: () => prepareQuery(resource.cache, query),
      entries: () => select(resource.cache, query, {}).entries,
      collect: () => afterwards(selectInTurns(resource.cache, query, {}), ({ entries }) => entries),
    };
  }

  #page(
    resource: Resource,
    query: Query,
    { page = 1, size = 0, revision }: { page: number | undefined; size: number | undefined; revision: number },
  ): ListPage | Promise<ListPage> {
    const onePage = { offset: (page - 1) * size, count: size };
    const everything = page > 1 ? { count: 0 } : {};
    return afterwards(selectInTurns(resource.cache, query, size === 0 ? everything : onePage), ({ entries, total }) =>
      listPage({ resource, entries, total, revision, page, size }),
    );
  }

  async #nextChunk(resource: Resource, query: Query, chunk: { limit: number; token: string }): Promise<ListPage> {
    const { revision, offset } = parseContinueToken(chunk.token, { epoch: this.#parts.epoch, query });
    // Another replica may have served the previous chunk, so memory may not have the revision of that chunk yet.
    await this.#parts.revisions.reach(String(revision));
    await prepareQuery(resource.cache, query);
    resource.checkServed();
    return this.#chunk(resource, query, { limit: chunk.limit, revision, offset });
  }

  async #chunk(
    resource: Resource,
    query: Query,
    chunk: { limit: number; revision: number; offset: number },
  ): Promise<ListPage> {
    const { revision, offset } = chunk;
    const count = chunk.limit === 0 ? Number.POSITIVE_INFINITY : chunk.limit;
    const { entries, total } = await resource.history.selectInTurns(query, revision, { offset, count });
    const next = offset + entries.length;
    const page = { resource, entries, total, revision };
    if (next >= total) return listPage(page);
    const token = formatContinueToken({ revision, offset: next }, { epoch: this.#parts.epoch, query });
    // Kubernetes reports the remaining count only for lists without selectors, because only there it is exact. Here it
    // is always exact, but clients expect the behavior of Kubernetes.
    const isSelective = query.conditions.length > 0 || query.isEmpty;
    return listPage({ token, ...page, ...(isSelective ? {} : { remaining: total - next }) });
  }
}

/**
 * Converts the entries to the requested version. Throws or rejects with ApiError InternalError when an object cannot be
 * converted.
 */
function listPage(parts: ListPageParts): ListPage | Promise<ListPage> {
  const { resource, entries } = parts;
  if (resource.view === undefined) return new ListPage(parts);
  return resource.showAll(entries).then((shown) => new ListPage({ ...parts, entries: shown }));
}
