import { rowOf } from './sqlite-binding.ts';
import type { SqlDatabase, SqlStatement } from './sqlite-binding.ts';
import { packPage, type PackedPage, type StoredRow } from './sqlite-protocol.ts';
import * as sql from './sqlite-statements.ts';
import { CompactedError } from '../store.ts';

/** A page ends at whichever limit comes first; small enough that a commit behind it waits about a millisecond. */
const maxPageRows = 1000;
const maxPageBytes = 1024 * 1024;

/** The reading side of a database, and its compaction. */
export class SqliteReader {
  readonly #kinds: SqlStatement<{ readonly kind: number }>;
  readonly #scan: SqlStatement<StoredRow>;
  readonly #changes: SqlStatement<StoredRow>;
  readonly #bound: SqlStatement<{ readonly revision: number }>;
  readonly #delete: SqlStatement;
  readonly #setMeta: SqlStatement;
  #compactRevision: number;

  constructor(database: SqlDatabase) {
    this.#kinds = database.prepare(sql.listKinds);
    this.#scan = database.prepare(sql.scanKind);
    this.#changes = database.prepare(sql.listChanges);
    this.#bound = database.prepare(sql.compactBound);
    this.#delete = database.prepare(sql.deleteChanges);
    this.#setMeta = database.prepare(sql.setMeta);
    this.#compactRevision = rowOf(database.prepare<{ readonly value: number }>(sql.getMeta), 'compactRevision').value;
  }

  get compactRevision(): number {
    return this.#compactRevision;
  }

  kinds(): number[] {
    return this.#kinds.all().map(({ kind }) => kind);
  }

  scan(kind: number, after: string): PackedPage {
    return page(this.#scan.iterate(kind, after, maxPageRows), maxPageRows);
  }

  changes(after: number, limit: number): PackedPage {
    if (after < this.#compactRevision) throw new CompactedError(this.#compactRevision);
    const maxRows = Math.min(limit, maxPageRows);
    return page(this.#changes.iterate(after, maxRows), maxRows);
  }

  /** Call in a transaction. Returns the number of dropped changes, and the new compactRevision. */
  compact(upTo: number, maxRows: number): { readonly dropped: number; readonly compactRevision: number } {
    if (maxRows < 1 || upTo <= this.#compactRevision) return { dropped: 0, compactRevision: this.#compactRevision };
    const last = this.#bound.get(upTo, maxRows - 1);
    const compactRevision = last?.revision ?? upTo;
    const dropped = Number(this.#delete.run(compactRevision).changes);
    this.#setMeta.run('compactRevision', compactRevision);
    return { dropped, compactRevision };
  }

  /** Called once the transaction of {@link compact} is committed. */
  compacted(compactRevision: number): void {
    this.#compactRevision = compactRevision;
  }
}

function page(found: Iterable<StoredRow>, maxRows: number): PackedPage {
  const rows: StoredRow[] = [];
  let size = 0;
  for (const row of found) {
    rows.push(row);
    size += row.data.byteLength + (row.previous?.byteLength ?? 0);
    if (size >= maxPageBytes) return packPage(rows, false);
  }
  return packPage(rows, rows.length < maxRows);
}
