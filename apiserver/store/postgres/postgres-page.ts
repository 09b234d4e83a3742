import { operationNames } from '../operation-codes.ts';
import type { Change, Row } from '../store.ts';

/** A byte string in the server's format: `\x`, and two digits for each byte. */
type Hexadecimal = string;

export interface ScannedRow {
  readonly key: string;
  readonly revision: number;
  readonly data: Hexadecimal;
}

export interface LoggedRow extends ScannedRow {
  readonly op: number;
  readonly kind: number;
  readonly previous: Hexadecimal | null;
  readonly previous_revision: number | null;
}

/**
 * Collects the bytes of a page in one buffer, outside of the pool of `Buffer`: a small object would keep 8 KB of that
 * pool alive.
 */
class PageBytes {
  readonly #bytes: Buffer;
  #end = 0;

  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafeSlow(size);
  }

  take(data: Hexadecimal): Uint8Array {
    const start = this.#end;
    this.#end += this.#bytes.write(data.slice(2), start, 'hex');
    return this.#bytes.subarray(start, this.#end);
  }
}

function sizeOf(data: Hexadecimal | null): number {
  return data === null ? 0 : (data.length - 2) / 2;
}

/** Returns the number of bytes of a page. */
export function pageSize(rows: readonly (ScannedRow & { readonly previous?: Hexadecimal | null })[]): number {
  return rows.reduce((total, { data, previous = null }) => total + sizeOf(data) + sizeOf(previous), 0);
}

export function rowsOf(rows: readonly ScannedRow[]): Row[] {
  const bytes = new PageBytes(pageSize(rows));
  return rows.map(({ key, revision, data }) => ({ key, revision, data: bytes.take(data) }));
}

export function changesOf(rows: readonly LoggedRow[]): Change[] {
  const bytes = new PageBytes(pageSize(rows));
  return rows.map(({ key, revision, op, kind, data, previous, previous_revision: previousRevision }) => {
    const change = { revision, op: operationNames[op] ?? 'update', key, kind, data: bytes.take(data) };
    if (previous === null) return change;
    return { ...change, previous: { revision: previousRevision ?? 0, data: bytes.take(previous) } };
  });
}
