import type { SqlDatabase, SqlStatement } from './sqlite-binding.ts';
import type { StoredPart } from './sqlite-protocol.ts';
import * as sql from './sqlite-statements.ts';

/**
 * Reads and writes the table `kept`. Each statement is a separate transaction, because each part is valid without the
 * others.
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

  drop(kind: number): void {
    this.#drop.run(kind);
  }
}
