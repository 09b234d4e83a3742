import type { ObjectList } from '@homeostat/controller-runtime/api';
import type { Entry } from '../index/entry.ts';
import type { Resource } from './resource.ts';

export interface ListPageParts {
  readonly resource: Resource;
  readonly entries: readonly Entry[];
  /** All matches. */
  readonly total: number;
  readonly revision: number;
  /** From 1; default 1. */
  readonly page?: number;
  /** Default 0: not paged. */
  readonly size?: number;
  /** Continue token, when there is more. */
  readonly token?: string;
  /** How much more, where that is known. */
  readonly remaining?: number;
}

/** One answer of a list: entries and envelope (objects-and-http "Lists"). */
export class ListPage {
  readonly entries: readonly Entry[];
  readonly #parts: ListPageParts;

  constructor(parts: ListPageParts) {
    this.entries = parts.entries;
    this.#parts = parts;
  }

  /** Everything but the items. */
  envelope(): Omit<ObjectList, 'items'> {
    const { resource, total, revision, page = 1, size = 0, token, remaining } = this.#parts;
    const totalPages = size === 0 ? 1 : Math.ceil(total / size);
    return {
      apiVersion: resource.apiVersion,
      kind: `${resource.model.kind}List`,
      metadata: {
        resourceVersion: String(revision),
        ...(token === undefined ? {} : { continue: token }),
        ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
      },
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

  /** The whole answer as JSON. The stored bytes are copied, never parsed. */
  toBytes(): Buffer {
    const head = Buffer.from(`${JSON.stringify(this.envelope()).slice(0, -1)},"items":[`);
    const parts: Buffer[] = [head];
    for (const entry of this.entries) {
      if (parts.length > 1) parts.push(comma);
      parts.push(entry.bytes);
    }
    parts.push(tail);
    return Buffer.concat(parts);
  }
}

const comma = Buffer.from(',');
const tail = Buffer.from(']}');
