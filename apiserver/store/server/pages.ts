import type { Change, Row } from '../store.ts';

export interface PageLimits {
  readonly maxRows: number;
  /** A page ends with the row that reaches this limit. */
  readonly maxBytes: number;
}

/** A page ends at whichever limit comes first; no page is much larger than the largest object. */
export const pageLimits: PageLimits = { maxRows: 1_000, maxBytes: 1024 * 1024 };

export interface RowPage<Item> {
  readonly items: readonly Item[];
  /** True when no page follows. */
  readonly isLast: boolean;
}

/** `bytes` is the size of the items, as the server counted it to end the page. */
export function pageOf<Item>(items: readonly Item[], bytes: number, { maxRows, maxBytes }: PageLimits): RowPage<Item> {
  return { items, isLast: items.length < maxRows && bytes < maxBytes };
}

/** The rows after a key, in pages. The next page is read while one is used. */
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
      // Keeps the process from reporting an unhandled rejection: a failure is thrown when the page is awaited, and a
      // caller that stops before that never sees it.
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
