import type { SqlDatabase, SqlStatement } from './sqlite-binding.ts';
import type { StoredPart } from './sqlite-protocol.ts';
import * as sql from './sqlite-statements.ts';

/** The maximum number of rows that one transaction deletes. Writers wait about a millisecond for the transaction. */
const droppedTogether = 8;

/**
 * Reads and writes the table `kept`. Each row has the kept values of a range of revisions, and is valid even if other
 * rows are missing. So each statement is a separate transaction.
 */
export class SqliteKept {
  readonly #find: SqlStatement<StoredPart>;
  readonly #set: SqlStatement;
  readonly #drop: SqlStatement;

  constructor(database: SqlDatabase) {
    this.#find = database.prepare(sql.findKept);
    this.#set = database.prepare(sql.setKept);
    this.#drop = database.prepare(sql.dropKept);
  }

  read(kind: number, from: number): StoredPart | undefined {
    return this.#find.get(kind, from);
  }

  write({ kind, last, data }: { readonly kind: number } & StoredPart): void {
    this.#set.run(kind, last, data);
  }

  /**
   * Deletes the first rows of a kind, at most {@link droppedTogether}, from the table `kept`. Returns false when the
   * kind had no row.
   */
  dropSome(kind: number): boolean {
    return Number(this.#drop.run(kind, kind, droppedTogether).changes) > 0;
  }
}
