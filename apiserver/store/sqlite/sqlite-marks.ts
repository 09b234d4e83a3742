import type { SnapshotMark } from '../store.ts';
import { rowOf } from './sqlite-binding.ts';
import type { SqlDatabase, SqlStatement } from './sqlite-binding.ts';
import * as sql from './sqlite-statements.ts';

/**
 * Reads and writes the mark of each kind's snapshot in the table `meta`. A mark has the nonce and the revision of the
 * snapshot file that is valid for this database, and the epoch in which the mark was written.
 */
export class SqliteMarks {
  readonly #get: SqlStatement<{ readonly value: string }>;
  readonly #set: SqlStatement;

  constructor(database: SqlDatabase) {
    this.#get = database.prepare(sql.getMeta);
    this.#set = database.prepare(sql.setMeta);
  }

  /** Returns the nonce and revision of a kind's snapshot; undefined if there are none, or if their epoch is over. */
  read(kind: number): SnapshotMark | undefined {
    const [nonce = '', revision, epoch] = this.#get.get(nameOf(kind))?.value.split(' ') ?? [];
    return epoch === this.#epoch ? { nonce, revision: Number(revision) } : undefined;
  }

  write({ kind, nonce, revision }: { readonly kind: number } & SnapshotMark): void {
    this.#set.run(nameOf(kind), `${nonce} ${revision} ${this.#epoch}`);
  }

  get #epoch(): string {
    return rowOf(this.#get, 'epoch').value;
  }
}

function nameOf(kind: number): string {
  return `snapshot:${kind}`;
}
