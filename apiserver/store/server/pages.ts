import type { Change, Row } from '../store.ts';

export interface PageLimits {
  readonly maxRows: number;
  /** A page ends with the row with which it reaches this number of bytes, so the page may be larger. */
  readonly maxBytes: number;
}

/**
 * The limits of a page. A page ends when it reaches one of them, so it has less than 1 MiB in addition to its last row.
 */
export const pageLimits: PageLimits = { maxRows: 1_000, maxBytes: 1024 * 1024 };

export interface RowPage<Item> {
  readonly items: readonly Item[];
  /** True when there is no page after this one. */
  readonly isLast: boolean;
}

/** Returns a page. `bytes` is the size of its items, as the database server has counted it. */
export function pageOf<Item>(items: readonly Item[], bytes: number, { maxRows, maxBytes }: PageLimits): RowPage<Item> {
  return { items, isLast: items.length < maxRows && bytes < maxBytes };
}

/** Yields rows in pages, in the order of their keys. The next page is read while the caller uses the current one. */
export async function* readAhead(
  read: (after: string) => Promise<RowPage<Row>>,
): AsyncGenerator<readonly Row[], void, undefined> {
  let next = read('');
  for (;;) {
    const { items, isLast } = await next;
    const last = items.at(-1);
    if (last === undefined) return;
    if (!isLast) {
      next = read(last.key);
      // A failure is thrown when the page is awaited. The empty handler prevents an unhandled rejection if the caller
      // stops before that.
      next.catch(() => undefined);
    }
    yield items;
    if (isLast) return;
  }
}

/** Reads at most `limit` changes after a revision, from as many pages as necessary. */
export async function readChanges(
  read: (after: number, limits: PageLimits) => Promise<RowPage<Change>>,
  after: number,
  limit: number,
): Promise<readonly Change[]> {
  const found: Change[] = [];
  while (found.length < limit) {
    const maxRows = Math.min(limit - found.length, pageLimits.maxRows);
    const { items, isLast } = await read(found.at(-1)?.revision ?? after, { ...pageLimits, maxRows });
    found.push(...items);
    if (isLast) break;
  }
  return found;
}
