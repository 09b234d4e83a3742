import type { StoredKind } from './object-key.ts';

/** A unique value: the number of the index (see {@link Store.numberOf}), and the value in the index. */
export type Claim = readonly [index: number, value: string];

export interface Operation {
  readonly op: 'create' | 'update' | 'delete';
  /**
   * The key of the object: `/registry/<group>/<plural>/[<namespace>/]<name>`, at most 700 bytes. The caller has
   * validated it.
   */
  readonly key: string;
  /** The number that identifies the object's kind in the database. */
  readonly kind: number;
  /** The revision that the stored object must have; required for an update and a deletion. */
  readonly expect?: number;
  /**
   * The bytes of the object; required for a creation and an update. A deletion may have the last state of the object,
   * for the log.
   */
  readonly data?: Uint8Array;
  readonly unique?: { readonly add: readonly Claim[]; readonly remove: readonly Claim[] };
  /**
   * The generation of the kind's unique indexes, as {@link Store.setClaims} has returned it. If the kind now has
   * another generation, the operation is refused, because an operation for other indexes may lack claims. Default: not
   * checked.
   */
  readonly generation?: number;
  /**
   * Claims that must all exist at the commit; otherwise the operation is refused. The objects that hold them may be of
   * other kinds. Default: none.
   */
  readonly requires?: readonly RequiredClaim[];
  /**
   * Bytes that other processes receive together with the change, if {@link Store.passesNotes} is true. The database
   * never stores them.
   */
  readonly note?: Uint8Array;
}

export interface RequiredClaim {
  /** The number that identifies the claim's kind in the database. */
  readonly kind: number;
  readonly claim: Claim;
}

export type Outcome =
  | { readonly revision: number }
  | { readonly conflict: 'revision' | 'exists' | 'notFound' | 'generation' | 'requires' }
  | {
      readonly conflict: 'unique';
      /** The key of the object that holds the claim. */ readonly holder: string;
      readonly claim: Claim;
    };

/** The result of a batch. */
export interface Committed {
  /**
   * The revision of the database just before the batch. The changes of other writers up to this revision come before
   * the changes of the batch.
   */
  readonly before: number;
  /** The outcomes in the order of the batch. */
  readonly outcomes: readonly Outcome[];
}

export interface BatchLimits {
  readonly maxOperations: number;
  /** The maximum number of bytes that the `data` of all operations of a batch have together. */
  readonly maxBytes: number;
}

/** The unique indexes of a kind and all claims of its objects. */
export interface KindClaims {
  /** The numbers of all unique indexes of the kind, even of those without claims. */
  readonly indexes: readonly number[];
  /** The claims. Each occurs only once. */
  readonly claims: readonly { readonly claim: Claim; readonly key: string }[];
  /** The revision of the kind's objects from which the claims were computed. */
  readonly revision: number;
}

/**
 * The result of {@link Store.setClaims}. `behind` means that objects of the kind have changed after the given revision,
 * or that the changes after it are compacted, and therefore unknown.
 */
export type ClaimsOutcome = { readonly generation: number } | { readonly refused: 'behind' };

/** A stored claim. */
export interface StoredClaim {
  readonly index: number;
  /** The claimed value of the index, in the form that `storedClaimValue` returns. */
  readonly value: string;
  readonly key: string;
}

/** The unique indexes of a kind, as stored. */
export interface StoredIndexes {
  /** The generation of the indexes; 0 until they are first set. */
  readonly generation: number;
  readonly indexes: readonly number[];
}

/** The unique indexes of a kind and the claims in them, as they were stored at a revision. */
export interface StoredClaims extends StoredIndexes {
  readonly claims: readonly StoredClaim[];
  readonly revision: number;
}

export interface Row {
  readonly key: string;
  readonly revision: number;
  readonly data: Uint8Array;
  /**
   * The reason why `data`, which are encrypted, cannot be decrypted. It does not contain the data. Only the encryption
   * sets this; engines do not.
   */
  readonly problem?: string;
}

export interface Change {
  readonly revision: number;
  readonly op: 'create' | 'update' | 'delete';
  readonly key: string;
  readonly kind: number;
  /** The new bytes of the object; for a deletion, the last bytes. */
  readonly data: Uint8Array;
  /** The previous state; absent for a creation. */
  readonly previous?: Pick<Row, 'revision' | 'data' | 'problem'>;
  /** The reason why `data` cannot be read, as in a {@link Row}. */
  readonly problem?: string;
  /** The `note` of the operation that made the change, if this process has received it. */
  readonly note?: Uint8Array;
}

export interface OpenedStore {
  readonly revision: number;
  /** Changes up to this revision are no longer available. */
  readonly compactRevision: number;
  /** A UUID that changes whenever the history may have lost changes, for example after the restore of a backup. */
  readonly epoch: string;
}

/** The error of `changes`, and of a slow `scan`, when the requested changes or states are compacted. */
export class CompactedError extends Error {
  override readonly name = 'CompactedError';
  readonly compactRevision: number;

  constructor(compactRevision: number) {
    super(`changes up to revision ${compactRevision} are compacted`);
    this.compactRevision = compactRevision;
  }
}

/** A kind, and its number in the store. */
export interface NumberedKind extends StoredKind {
  readonly number: number;
}

/** Data that a program has computed from objects of a kind, stored so that its next start need not compute them. */
export interface KeptData {
  /** The highest revision of the objects from which the data was computed. */
  readonly last: number;
  readonly data: Uint8Array;
  /** The reason why `data`, which are encrypted, cannot be decrypted. Only the encryption sets this; engines do not. */
  readonly problem?: string;
}

/**
 * Stores the kept data about the objects of each kind, in parts. A part belongs to a range of revisions, and always
 * stays valid. Parts may be lost.
 */
export interface KeptStore {
  /**
   * Returns a part of the kind's kept data: the first of the parts that end at the revision `from` or at a later one;
   * undefined when there is none.
   */
  read(kind: NumberedKind, from: number): Promise<KeptData | undefined>;
  /** Adds a part, or replaces the part with the same last revision. The part is durable when the promise resolves. */
  write(kind: NumberedKind, part: Pick<KeptData, 'last' | 'data'>): Promise<void>;
  /** Deletes the kept data of a kind: all its parts. */
  drop(kind: NumberedKind): Promise<void>;
}

/**
 * The mark of a snapshot, in the database: a nonce that identifies the file, and the revision of the state in the file.
 */
export interface SnapshotMark {
  /** A random text that identifies the snapshot: the file of the snapshot contains the same text. */
  readonly nonce: string;
  readonly revision: number;
}

/**
 * The files of snapshots, one for each kind: they have the objects and indexes that a server had in memory when it
 * stopped. A file is valid only for a database with the same mark. A restored backup has no mark, and another database
 * has another one.
 */
export interface SnapshotStore {
  /** The folder of the snapshot files. The folder may be missing. */
  readonly folder: string;
  /** Returns the name of the snapshot file of a kind. The name begins with the number of the kind. */
  nameOf(kind: NumberedKind): string;
  /**
   * Returns the mark of the kind's snapshot from the database. Returns undefined if the database has no mark for the
   * kind, or if the change log no longer has all changes since the mark was written.
   */
  readMark(kind: number): Promise<SnapshotMark | undefined>;
  /**
   * Replaces the kind's mark in the database. The mark names the snapshot file that belongs to the current database. It
   * is durable when the promise resolves.
   */
  writeMark(kind: number, mark: SnapshotMark): Promise<void>;
  /** Deletes a file if it exists. */
  drop(name: string): Promise<void>;
}

/**
 * A durable, ordered storage of opaque bytes. `store.contract.ts` tests these invariants for every driver: a commit is
 * atomic, and durable when it resolves; revisions strictly increase in the order of commits, and may have gaps; when a
 * revision is visible, all smaller ones that will ever exist are visible as well; a conflict fails only its own
 * operation.
 */
export interface Store {
  /**
   * True when other processes may write to the same database. Then a caller that keeps state in memory must follow
   * {@link changes}.
   */
  readonly isShared: boolean;
  /**
   * True when other processes receive the `note` of each operation together with the change. A `note` may be lost.
   * Default: other processes receive no `note`.
   */
  readonly passesNotes?: boolean | undefined;
  /**
   * The limits of batches that fit into one request of this engine. Larger batches need several requests. Default: no
   * limits.
   */
  readonly batchLimits?: BatchLimits | undefined;
  open(): Promise<OpenedStore>;
  /**
   * Writes a batch in one transaction. A batch must have at most one operation for each key. No two operations may
   * change the same claim, and no operation may require a claim that another one changes.
   */
  commit(batch: readonly Operation[]): Promise<Committed>;
  /** Yields the present rows in pages: rows of all kinds in the order of their keys, rows of one kind in any order. */
  scan(kind?: number): AsyncIterable<readonly Row[]>;
  /**
   * Returns the first changes after a revision, at most `limit`, in the order of revisions and without missing ones.
   * Rejects with CompactedError when changes after the revision are compacted.
   */
  changes(after: number, limit: number): Promise<readonly Change[]>;
  /** Returns the latest revision. The read is linearizable. */
  currentRevision(): Promise<number>;
  /**
   * Rejects with StoreError `newer` once a newer program has upgraded the tables. Writes check this in their own
   * transaction; this method is for a server that does not write at the moment.
   */
  checkSchema(): Promise<void>;
  /**
   * Calls `wake` with hints: each says that there may be a new revision. Hints may be lost or wrong. Returns a function
   * that unsubscribes.
   */
  subscribe(wake: (revision: number) => void): () => void;
  /**
   * Drops the changes up to a revision, at most `maxRows`, and updates compactRevision. Returns the number of dropped
   * changes.
   */
  compact(upTo: number, maxRows: number): Promise<number>;
  /**
   * Returns the durable number of a name (`kind:<group>/<plural>`, `index:…`). A name gets a number at the first call.
   * Numbers begin at 1.
   */
  numberOf(name: string): Promise<number>;
  /** Returns the names that {@link numberOf} has numbered and that start with `prefix`, in no particular order. */
  names(prefix: string): Promise<readonly string[]>;
  /** Returns the unique indexes of a kind, without its claims, of which there may be millions. */
  uniqueIndexes(kind: number): Promise<StoredIndexes>;
  /** Returns the unique indexes and the claims of a kind at one revision. Takes no locks. */
  claims(kind: number): Promise<StoredClaims>;
  /**
   * Sets the unique indexes and the claims of a kind to exactly these, in one transaction, or in several during which
   * all writes of the kind are refused. A server calls this when it opens a kind, because an index may have been added,
   * removed or changed. Any change creates a new generation. When objects of the kind have changed, or may have
   * changed, after the revision of `claims`, the outcome is `behind`: only the indexes are set, with a new generation,
   * so from then on, writers with other indexes are refused. The caller then computes the claims again.
   */
  setClaims(kind: number, claims: KindClaims): Promise<ClaimsOutcome>;
  /**
   * Starts a new history of an empty database at a revision, with a new epoch. Rejects with StoreError `refused` when
   * the database has objects.
   */
  startHistory(revision: number): Promise<OpenedStore>;
  /**
   * Copies the database, while it is in use, into a new file in the same folder, and resolves with the path of this
   * file. Only the owner of the file can read it. The caller deletes the file. The copy has all writes that were
   * acknowledged before the call. A database that is opened from the copy continues at a later revision, with a new
   * epoch. The method is absent for a database in memory, and for an engine whose own tools make copies.
   */
  readonly backUp?: (() => Promise<string>) | undefined;
  /** Absent when the engine cannot keep data about objects, so that each start computes them. */
  readonly kept?: KeptStore | undefined;
  /** Absent when the engine cannot have snapshot files. */
  readonly snapshots?: SnapshotStore | undefined;
  close(): Promise<void>;
}
