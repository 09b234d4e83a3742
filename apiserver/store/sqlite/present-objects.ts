import { operationCodes } from '../operation-codes.ts';
import { readPresentCopy, writePresentCopy } from './present-copy.ts';
import { type HashSecret, keyHash } from '../../base/key-hash.ts';
import { RevisionTable } from './revision-table.ts';
import { rowOf } from './sqlite-binding.ts';
import type { SqlDatabase, SqlStatement } from './sqlite-binding.ts';
import * as sql from './sqlite-statements.ts';

/** The kind and the key of an object, and the hash of the key. */
export interface ObjectKey {
  readonly kind: number;
  readonly key: string;
  readonly hash: number;
}

interface StoredState {
  readonly revision: number;
  readonly op: number;
  readonly kind: number;
  readonly previous: number | null;
  readonly key: string;
}

/**
 * The revisions of all present objects, by kind and key. They replace an index of the table `history` by keys. Memory
 * has only the hashes of the keys. The keys are read from the database to confirm a hash.
 */
export class PresentObjects {
  readonly #database: SqlDatabase;
  readonly #tables: Map<number, RevisionTable>;
  readonly #keyAt: SqlStatement<{ readonly key: string }>;
  readonly #secret: HashSecret;
  #copied: number;

  /**
   * Reads the revisions and key hashes that {@link copy} stored in the database, and then the later changes in the
   * table `history`. If the database has no usable copy, reads all of `history`. Keys are hashed with the secret of the
   * copy, or with `secret` if there is none.
   */
  constructor(database: SqlDatabase, secret: HashSecret) {
    this.#database = database;
    this.#keyAt = database.prepare(sql.getKey);
    const copy = readPresentCopy(database);
    this.#copied = copy?.revision ?? 0;
    this.#secret = copy?.secret ?? secret;
    this.#tables = new Map(copy?.tables);
    const states = database.prepare<StoredState>(sql.listStates);
    for (const state of states.iterate(this.#copied)) this.#replay(state);
  }

  /** The revision at which {@link copy} last stored these tables in the database; 0 when the database has no copy. */
  get copied(): number {
    return this.#copied;
  }

  get size(): number {
    return [...this.#tables.values()].reduce((sum, { size }) => sum + size, 0);
  }

  keyOf(kind: number, key: string): ObjectKey {
    return { kind, key, hash: keyHash(key, this.#secret) };
  }

  /** Returns the revision of an object; 0 when there is none. */
  revisionOf({ kind, key, hash }: ObjectKey): number {
    const isFound = (revision: number): boolean => rowOf(this.#keyAt, revision).key === key;
    return this.#tables.get(kind)?.find(hash, isFound) ?? 0;
  }

  /** Records that the revision of an object has changed from `from` to `to`; 0 means that there is no object. */
  move({ kind, hash }: ObjectKey, from: number, to: number): void {
    let table = this.#tables.get(kind);
    if (table === undefined) {
      table = new RevisionTable();
      this.#tables.set(kind, table);
    }
    if (to === 0) table.remove(hash, from);
    else if (from === 0 || !table.replace(hash, from, to)) table.add(hash, to);
  }

  /** Returns the revisions of the objects of a kind in ascending order; without a kind, those of all objects. */
  revisions(kind?: number): Float64Array<ArrayBuffer> {
    const tables = [...this.#tables].flatMap(([each, table]) => (kind === undefined || each === kind ? [table] : []));
    const found = new Float64Array(tables.reduce((sum, { size }) => sum + size, 0));
    let at = 0;
    for (const table of tables) at = table.copyTo(found, at);
    return found.sort();
  }

  /**
   * Writes a copy of these objects into the database; the next start reads the copy. Call this in a transaction.
   */
  copy(revision: number): void {
    writePresentCopy(this.#database, { revision, secret: this.#secret, tables: this.#tables });
    this.#copied = revision;
  }

  // The previous state may be missing: it is deleted when the change that replaced it is compacted.
  #replay({ revision, op, kind, previous, key }: StoredState): void {
    this.move(this.keyOf(kind, key), previous ?? 0, op === operationCodes.delete ? 0 : revision);
  }
}
