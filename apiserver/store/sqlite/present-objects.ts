import { operationCodes } from '../operation-codes.ts';
import { type HashSecret, keyHash } from './key-hash.ts';
import { RevisionTable } from './revision-table.ts';
import { rowOf } from './sqlite-binding.ts';
import type { SqlDatabase, SqlStatement } from './sqlite-binding.ts';
import * as sql from './sqlite-statements.ts';

/** The object of a key, and the hash of the key. */
export interface ObjectKey {
  readonly kind: number;
  readonly key: string;
  readonly hash: number;
}

/** A change of {@link PresentObjects}; revision 0: the object is absent. */
interface Move {
  readonly object: ObjectKey;
  readonly from: number;
  readonly to: number;
}

interface StoredState {
  readonly revision: number;
  readonly op: number;
  readonly kind: number;
  readonly previous: number | null;
  readonly key: string;
}

/**
 * The revisions of all present objects, by kind and key: what an index of the table would be. Keys themselves are only
 * in the database, and are read to confirm a hash.
 */
export class PresentObjects {
  readonly #tables = new Map<number, RevisionTable>();
  readonly #keyAt: SqlStatement<{ readonly key: string }>;
  readonly #secret: HashSecret;
  /** The moves of the present transaction, in order. */
  #moves: Move[] = [];

  /** Reads the keys of the database. */
  constructor(database: SqlDatabase, secret: HashSecret) {
    this.#keyAt = database.prepare(sql.getKey);
    this.#secret = secret;
    for (const state of database.prepare<StoredState>(sql.listStates).iterate()) this.#replay(state);
  }

  get size(): number {
    return [...this.#tables.values()].reduce((sum, { size }) => sum + size, 0);
  }

  keyOf(kind: number, key: string): ObjectKey {
    return { kind, key, hash: keyHash(key, this.#secret) };
  }

  /** The revision of an object; 0: there is none. */
  revisionOf({ kind, key, hash }: ObjectKey): number {
    const isFound = (revision: number): boolean => rowOf(this.#keyAt, revision).key === key;
    return this.#tables.get(kind)?.find(hash, isFound) ?? 0;
  }

  /** Holds until {@link undo}. 0: the object is absent. */
  move(object: ObjectKey, from: number, to: number): void {
    this.#moves.push({ object, from, to });
    this.#set(object, from, to);
  }

  /** The transaction is committed. */
  keep(): void {
    this.#moves = [];
  }

  /** The transaction is rolled back. */
  undo(): void {
    for (const { object, from, to } of this.#moves.toReversed()) this.#set(object, to, from);
    this.#moves = [];
  }

  /** The revisions of the objects of a kind, or of all, in ascending order. */
  revisions(kind?: number): Float64Array<ArrayBuffer> {
    const tables = [...this.#tables].flatMap(([each, table]) => (kind === undefined || each === kind ? [table] : []));
    const found = new Float64Array(tables.reduce((sum, { size }) => sum + size, 0));
    let at = 0;
    for (const table of tables) at = table.copyTo(found, at);
    return found.sort();
  }

  #set({ kind, hash }: ObjectKey, from: number, to: number): void {
    const table = this.#tableOf(kind);
    if (to === 0) table.remove(hash, from);
    else if (from === 0 || !table.replace(hash, from, to)) table.add(hash, to);
  }

  // A state before may be absent: it goes as soon as the change that replaced it is compacted.
  #replay({ revision, op, kind, previous, key }: StoredState): void {
    this.#set(this.keyOf(kind, key), previous ?? 0, op === operationCodes.delete ? 0 : revision);
  }

  #tableOf(kind: number): RevisionTable {
    let table = this.#tables.get(kind);
    if (table === undefined) {
      table = new RevisionTable();
      this.#tables.set(kind, table);
    }
    return table;
  }
}
