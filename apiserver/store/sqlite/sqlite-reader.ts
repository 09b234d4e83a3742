import { rowOf } from './sqlite-binding.ts';
import type { SqlDatabase, SqlStatement } from './sqlite-binding.ts';
import { maxPageRows, packPage, type PackedPage, type StoredRow } from '../packed-page.ts';
import * as sql from './sqlite-statements.ts';
import { CompactedError } from '../store.ts';

/**
 * The number of bytes at which a page ends, if it has not reached the maximum number of rows before. A page is so small
 * that a commit waits only about a millisecond for it.
 */
const maxPageBytes = 1024 * 1024;

/**
 * The maximum number of changes that a scan protects from compaction. Without this limit, a scan that never ends would
 * let the file grow forever.
 */
const maxHeldChanges = 1_000_000;

/** Reads a database, and compacts its history. */
export class SqliteReader {
  readonly #key: SqlStatement<{ readonly key: string }>;
  readonly #row: SqlStatement<StoredRow>;
  readonly #rows: SqlStatement<StoredRow>;
  readonly #changes: SqlStatement<StoredRow>;
  readonly #bound: SqlStatement<{ readonly changes: number; readonly last: number | null }>;
  readonly #addGone: SqlStatement;
  readonly #dropReplaced: SqlStatement;
  readonly #dropDeletes: SqlStatement;
  readonly #setMeta: SqlStatement;
  /** The revision of each running scan, by the number of the scan. */
  readonly #held = new Map<number, number>();
  #reads = 0;
  #compactRevision: number;

  constructor(database: SqlDatabase) {
    this.#key = database.prepare(sql.getKey);
    this.#row = database.prepare(sql.getRow);
    this.#rows = database.prepare(sql.listRows);
    this.#changes = database.prepare(sql.listChanges);
    this.#bound = database.prepare(sql.compactBound);
    this.#addGone = database.prepare(sql.addGone);
    this.#dropReplaced = database.prepare(sql.dropReplaced);
    this.#dropDeletes = database.prepare(sql.dropDeletes);
    this.#setMeta = database.prepare(sql.setMeta);
    this.#compactRevision = rowOf(database.prepare<{ readonly value: number }>(sql.getMeta), 'compactRevision').value;
  }

  get compactRevision(): number {
    return this.#compactRevision;
  }

  /**
   * Protects the states that are present at a revision from compaction until {@link release} is called, or until there
   * are {@link maxHeldChanges} later changes. Returns a number for `release`.
   */
  hold(revision: number): number {
    this.#reads += 1;
    this.#held.set(this.#reads, revision);
    return this.#reads;
  }

  release(read: number): void {
    this.#held.delete(read);
  }

  keys(revisions: Float64Array): readonly string[] {
    return Array.from(revisions, (revision) => this.#uncompacted(this.#key.get(revision)).key);
  }

  /**
   * Returns the states with these revisions, in the order of the revisions; fewer of them when they have many bytes.
   * Throws CompactedError when compaction has removed one of these states: the scan took so long that {@link hold} no
   * longer protected them.
   */
  rows(revisions: Float64Array): PackedPage {
    return page(this.#rowsAt(revisions), revisions.length);
  }

  changes(after: number, limit: number): PackedPage {
    if (after < this.#compactRevision) throw new CompactedError(this.#compactRevision);
    const maxRows = Math.min(limit, maxPageRows);
    return page(this.#changes.iterate(after, maxRows), maxRows);
  }

  /**
   * Drops changes up to the revision `upTo`, at most `maxRows`, and none that a running scan protects. Returns the
   * number of dropped changes, and the new compactRevision. Call this in a transaction.
   *
   * The table `present` lists the revisions that the objects had when the database was at the revision `copied`; if
   * `copied` is 0, the table is empty. When a replaced state is dropped, and its revision is at most `copied`, this
   * revision is added to the table `gone`, because `present` may list it.
   */
  compact({ upTo, maxRows, copied }: { readonly upTo: number; readonly maxRows: number; readonly copied: number }): {
    readonly dropped: number;
    readonly compactRevision: number;
  } {
    const from = this.#compactRevision;
    const bound = Math.min(upTo, Math.max(upTo - maxHeldChanges, Math.min(...this.#held.values())));
    if (maxRows < 1 || bound <= from) return { dropped: 0, compactRevision: from };
    const { changes, last } = rowOf(this.#bound, from, bound, maxRows);
    const compactRevision = changes < maxRows ? bound : (last ?? bound);
    this.#addGone.run(from, compactRevision, copied);
    this.#dropReplaced.run(from, compactRevision);
    this.#dropDeletes.run(from, compactRevision);
    this.#setMeta.run('compactRevision', compactRevision);
    return { dropped: changes, compactRevision };
  }

  /** Records the new compactRevision. Call this when the transaction of {@link compact} is committed. */
  compacted(compactRevision: number): void {
    this.#compactRevision = compactRevision;
  }

  *#rowsAt(revisions: Float64Array): Generator<StoredRow, void, undefined> {
    if (isDense(revisions)) yield* this.#rowsAmong(revisions);
    else for (const revision of revisions) yield this.#uncompacted(this.#row.get(revision));
  }

  /**
   * Reads all rows from the first revision to the last, and skips those that are not in the list. This takes half as
   * long as a look-up of each row.
   */
  *#rowsAmong(revisions: Float64Array): Generator<StoredRow, void, undefined> {
    let next = 0;
    for (const row of this.#rows.iterate(revisions[0] ?? 0, revisions.at(-1) ?? 0)) {
      if (row.revision < (revisions[next] ?? 0)) continue;
      yield this.#uncompacted(row.revision === revisions[next] ? row : undefined);
      next += 1;
    }
    if (next < revisions.length) this.#uncompacted(undefined);
  }

  #uncompacted<Row>(row: Row | undefined): Row {
    if (row === undefined) throw new CompactedError(this.#compactRevision);
    return row;
  }
}

/**
 * Returns true when the revisions are in ascending order, and at least half of all revisions from the first to the last
 * are in the list.
 */
function isDense(revisions: Float64Array): boolean {
  const [first = 0, last = 0] = [revisions[0], revisions.at(-1)];
  if (last - first >= 2 * revisions.length) return false;
  return revisions.every((revision, at) => at === 0 || revision > (revisions[at - 1] ?? 0));
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
