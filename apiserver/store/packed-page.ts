import { operationNames } from './operation-codes.ts';
import { unpackNotes } from './packed-notes.ts';
import type { PackedNotes } from './packed-notes.ts';
import type { Change, Row, Store } from './store.ts';

/**
 * A page of rows as columns. `numbers` has for each row: revision, op, kind, the length of the data, and the length and
 * the revision of the previous state (-1 for none).
 */
export interface PackedPage {
  readonly keys: readonly string[];
  readonly numbers: Float64Array;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** True when there is no page after this one. */
  readonly isLast: boolean;
  /**
   * For changes that were just committed: the bytes that the writer sends to other processes with each change. A page
   * that was read from the database has none.
   */
  readonly notes?: PackedNotes | undefined;
}

/** A store that can return changes as pages, without an object for each change. */
export interface PagedStore extends Store {
  /** Resolves with the changes of {@link Store.changes}, as pages. */
  changePages(after: number, limit: number): Promise<readonly PackedPage[]>;
}

/** The maximum number of rows of a page. A page may have fewer rows because of their bytes. */
export const maxPageRows = 1000;

const pageStride = 6;

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A row to pack. A row of a scan has no `op`, `kind` or `previous`. */
export interface StoredRow {
  readonly key: string;
  readonly revision: number;
  readonly data: Uint8Array;
  readonly op?: number;
  readonly kind?: number;
  readonly previous?: Uint8Array | null;
  readonly previousRevision?: number | null;
}

export function packPage(rows: readonly StoredRow[], isLast: boolean): PackedPage {
  const keys: string[] = [];
  const numbers = new Float64Array(rows.length * pageStride);
  let total = 0;
  for (const row of rows) total += row.data.byteLength + (row.previous?.byteLength ?? 0);
  const bytes = new Uint8Array(total);
  let offset = 0;
  for (const [position, row] of rows.entries()) {
    keys.push(row.key);
    const length = row.data.byteLength;
    numbers.set(
      [row.revision, row.op ?? 0, row.kind ?? 0, length, row.previous?.byteLength ?? -1, row.previousRevision ?? -1],
      position * pageStride,
    );
    bytes.set(row.data, offset);
    if (row.previous) bytes.set(row.previous, offset + length);
    offset += length + (row.previous?.byteLength ?? 0);
  }
  return { keys, numbers, bytes, isLast };
}

/** Returns the rows of a page. Their data are views into the page's buffer. */
export function unpackRows({ keys, numbers, bytes }: PackedPage): Row[] {
  const rows: Row[] = [];
  let offset = 0;
  for (const [position, key] of keys.entries()) {
    const at = position * pageStride;
    const length = numbers[at + 3] ?? 0;
    rows.push({ key, revision: numbers[at] ?? 0, data: bytes.subarray(offset, offset + length) });
    offset += length;
  }
  return rows;
}

/** Returns the changes of a page. Their data are views into the page's buffer. */
export function unpackChanges({ keys, numbers, bytes, notes }: PackedPage): Change[] {
  const changes: Change[] = [];
  const noted = unpackNotes(notes);
  let offset = 0;
  let at = 0;
  // The loop reads each number of a change by its index. An iterator over the six numbers of each change would take as
  // long as the rest of this function.
  for (const key of keys) {
    const revision = numbers[at] ?? 0;
    const op = operationNames[numbers[at + 1] ?? 0] ?? 'update';
    const kind = numbers[at + 2] ?? 0;
    const length = numbers[at + 3] ?? 0;
    const previousLength = numbers[at + 4] ?? -1;
    const change: Writable<Change> = { revision, op, key, kind, data: bytes.subarray(offset, offset + length) };
    offset += length;
    if (previousLength >= 0) {
      change.previous = { revision: numbers[at + 5] ?? 0, data: bytes.subarray(offset, offset + previousLength) };
      offset += previousLength;
    }
    const note = noted?.[changes.length];
    if (note !== undefined) change.note = note;
    changes.push(change);
    at += pageStride;
  }
  return changes;
}

/** Returns the revisions of all rows. */
export function revisionsOf({ keys, numbers }: PackedPage): readonly number[] {
  return keys.map((_, position) => numbers[position * pageStride] ?? 0);
}

/** Returns the revision of the last row; undefined when the page has no rows. */
export function lastRevisionOf({ keys, numbers }: PackedPage): number | undefined {
  return numbers[(keys.length - 1) * pageStride];
}
