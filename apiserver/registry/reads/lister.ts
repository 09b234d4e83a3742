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

/** A selection of objects, and their order. */
export interface SelectionRequest {
  readonly labelSelector: Selector;
  readonly fieldSelector: Selector;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  /** Default, when empty: creationTimestamp, newest first. Equal objects are in the order of their names. */
  readonly sort: readonly SortRequest[];
}

/** All parameters of a list (objects-and-http "Lists"). */
export interface ListRequest extends SelectionRequest {
  /** Pages from 1; size 0 is everything. */
  readonly page?: { readonly page: number; readonly size: number } | undefined;
  /** Kubernetes' chunks; limit 0 is everything. */
  readonly chunk?: { readonly limit: number; readonly token?: string } | undefined;
  readonly resourceVersion?: string | undefined;
  /** True for the list exactly as of resourceVersion, and not a later one. */
  readonly exact?: boolean | undefined;
}

/** A selection that is ready to run. */
export interface Selection {
  readonly selects: (entry: Entry) => boolean;
  /** Equal for selections of the same objects of a kind; empty when it selects all of them. */
  readonly key: string;
  /**
   * Builds the indexes that the selection needs and a large kind does not have yet, in many turns of the event loop.
   * Undefined when they exist.
   */
  prepare(): Promise<void> | undefined;
  /** The present objects, as stored. Builds a missing index in this turn. */
  entries(): readonly Entry[];
  /**
   * Returns the entries as they are at the time of the call, in several turns of the event loop when that takes long.
   */
  collect(): readonly Entry[] | Promise<readonly Entry[]>;
}

export interface ListerParts {
  readonly revisions: Revisions;
  /** Part of continue tokens: a history that may have gone back has another epoch. */
  readonly epoch: string;
}

/** Makes lists: their entries, their revision, and their envelope. */
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
    // The previous chunk may come from another replica, so memory may not have its revision yet.
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
    // Kubernetes reports the remaining count only without selectors, where it is exact. Here it is always exact, but
    // clients expect the same as in Kubernetes.
    const isSelective = query.conditions.length > 0 || query.isEmpty;
    return listPage({ token, ...page, ...(isSelective ? {} : { remaining: total - next }) });
  }
}

/** The entries in the requested version. Throws, or rejects with, ApiError InternalError when one cannot be converted. */
function listPage(parts: ListPageParts): ListPage | Promise<ListPage> {
  const { resource, entries } = parts;
  if (resource.view === undefined) return new ListPage(parts);
  return resource.showAll(entries).then((shown) => new ListPage({ ...parts, entries: shown }));
}
