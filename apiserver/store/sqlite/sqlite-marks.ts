import type { SnapshotMark } from '../store.ts';
import { rowOf } from './sqlite-binding.ts';
import type { SqlDatabase, SqlStatement } from './sqlite-binding.ts';
import * as sql from './sqlite-statements.ts';

/**
 * Reads and writes the marks of snapshots in the table `meta`: the nonce, the revision, and the epoch in which the mark
 * was written.
 */
export class SqliteMarks {
  readonly #get: SqlStatement<{ readonly value: string }>;
  readonly #set: SqlStatement;

  constructor(database: SqlDatabase) {
    this.#get = database.prepare(sql.getMeta);
    this.#set = database.prepare(sql.setMeta);
  }

  /** Returns the nonce and revision of a kind's snapshot; undefined when there are none, or when their epoch is over. */
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
