import type { StoredKind } from './object-key.ts';

/** A unique value: the number of the index (see {@link Store.numberOf}), and the value in the index. */
export type Claim = readonly [index: number, value: string];

export interface Operation {
  readonly op: 'create' | 'update' | 'delete';
  /** `/registry/<group>/<plural>/[<namespace>/]<name>`, validated by the caller. At most 700 bytes. */
  readonly key: string;
  /** Number of the kind. */
  readonly kind: number;
  /** Revision of the stored object; required by update and delete. */
  readonly expect?: number;
  /** The object's bytes; required by create and update. A delete may have the last state for its log row. */
  readonly data?: Uint8Array;
  readonly unique?: { readonly add: readonly Claim[]; readonly remove: readonly Claim[] };
  /**
   * The generation of the kind's unique indexes, as {@link Store.setClaims} returned it. A writer with other indexes
   * would claim too little, so its write is refused. When absent, it is not checked.
   */
  readonly generation?: number;
  /** Claims, of any kinds, that must all have a holder at the commit. Absent: none. */
  readonly requires?: readonly RequiredClaim[];
  /** A note of the writer about the change for other processes; see {@link Store.passesNotes}. Never stored. */
  readonly note?: Uint8Array;
}

export interface RequiredClaim {
  /** The number of the claim's kind. */
  readonly kind: number;
  readonly claim: Claim;
}

export type Outcome =
  | { readonly revision: number }
  | { readonly conflict: 'revision' | 'exists' | 'notFound' | 'generation' | 'requires' }
  | {
      readonly conflict: 'unique';
      /** Key of the object that has the value. */ readonly holder: string;
      readonly claim: Claim;
    };

/** The result of a batch. */
export interface Committed {
  /**
   * The database's revision just before the batch: other writers' changes up to this revision come before the batch's
   * own.
   */
  readonly before: number;
  /** The outcomes in the order of the batch. */
  readonly outcomes: readonly Outcome[];
}

export interface BatchLimits {
  readonly maxOperations: number;
  /** The bytes of data. */
  readonly maxBytes: number;
}

/** The unique indexes of a kind and all claims of its objects. */
export interface KindClaims {
  /** The numbers of all its unique indexes, with or without claims. */
  readonly indexes: readonly number[];
  /** Distinct. */
  readonly claims: readonly { readonly claim: Claim; readonly key: string }[];
  /** The revision of the objects. */
  readonly revision: number;
}

/**
 * `behind` means that objects of the kind have changed after the revision, or that the revision is compacted, so that
 * changes are unknown.
 */
export type ClaimsOutcome = { readonly generation: number } | { readonly refused: 'behind' };

/** A stored claim. */
export interface StoredClaim {
  readonly index: number;
  /** The value in the form of `storedClaimValue`. */
  readonly value: string;
  readonly key: string;
}

/** The unique indexes of a kind, as stored. */
export interface StoredIndexes {
  /** 0 until they are first set. */
  readonly generation: number;
  readonly indexes: readonly number[];
}

/** The unique indexes of a kind and the claims in them, as stored at a revision. */
export interface StoredClaims extends StoredIndexes {
  readonly claims: readonly StoredClaim[];
  readonly revision: number;
}

export interface Row {
  readonly key: string;
  readonly revision: number;
  readonly data: Uint8Array;
  /** The reason why `data` is encrypted and cannot be read; it does not quote the data. Engines set none. */
  readonly problem?: string;
}

export interface Change {
  readonly revision: number;
  readonly op: 'create' | 'update' | 'delete';
  readonly key: string;
  readonly kind: number;
  /** The new bytes; for a delete, the last ones. */
  readonly data: Uint8Array;
  /** The previous row; absent for create. */
  readonly previous?: Pick<Row, 'revision' | 'data' | 'problem'>;
  /** The problem of `data`, as in a {@link Row}. */
  readonly problem?: string;
  /** The note of its operation, unless it was lost. */
  readonly note?: Uint8Array;
}

export interface OpenedStore {
  readonly revision: number;
  /** Changes up to this revision are gone. */
  readonly compactRevision: number;
  /** A UUID that changes whenever history may have gone back. */
  readonly epoch: string;
}

/** `changes` was called for a compacted revision. */
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

/** Data about objects of a kind that a program keeps, so that its next start need not compute it. */
export interface KeptData {
  /** The last revision to which the data belongs. */
  readonly last: number;
  readonly data: Uint8Array;
  /** The reason why `data` is encrypted and cannot be read. Engines set none. */
  readonly problem?: string;
}

/**
 * The kept data about the objects of each kind, in parts. A part belongs to a range of revisions, and stays valid.
 * Parts may be lost.
 */
export interface KeptStore {
  /** The first part whose last revision is at least `from`; undefined when there is none. */
  read(kind: NumberedKind, from: number): Promise<KeptData | undefined>;
  /** Adds a part, or replaces the one with the same last revision. Durable when it resolves. */
  write(kind: NumberedKind, part: Pick<KeptData, 'last' | 'data'>): Promise<void>;
  /** Deletes all parts of a kind. */
  drop(kind: NumberedKind): Promise<void>;
}

/** Names the file with the memory of a kind, and the revision whose state it has. */
export interface SnapshotMark {
  /** Random, and in the file as well. */
  readonly nonce: string;
  readonly revision: number;
}

/**
 * The place of files with what a server had in memory when it stopped, one for each kind. A file is right only for the database that has its
 * mark: a copy, a backup or another database has none, or an older one.
 */
export interface SnapshotStore {
  /** The folder of the files; it may be missing. */
  readonly folder: string;
  /** The name of the file of a kind, which begins with the number of the kind. */
  nameOf(kind: NumberedKind): string;
  /** undefined when there is none since history last went back. */
  readMark(kind: number): Promise<SnapshotMark | undefined>;
  /** Replaces the mark of a kind. Durable when it resolves. */
  writeMark(kind: number, mark: SnapshotMark): Promise<void>;
  /** Deletes a file, if it is there. */
  drop(name: string): Promise<void>;
}

/**
 * Durable, ordered storage of opaque bytes. Invariants, tested for every driver by `store.contract.ts`: a commit is
 * atomic, and durable when it resolves; revisions strictly increase in commit order (gaps are legal); if a revision is
 * visible, so is every smaller one that will ever exist; a conflict fails only its own operation.
 */
export interface Store {
  /**
   * True when other processes may write to the same database: a caller that keeps state in memory has to follow {@link
   * changes}.
   */
  readonly isShared: boolean;
  /** True when notes of operations reach other processes with the changes. Some may be lost. Default: none are passed on. */
  readonly passesNotes?: boolean | undefined;
  /** The batches that fit into one request of this engine. Larger ones work too, but cost several. Default: no limits. */
  readonly batchLimits?: BatchLimits | undefined;
  open(): Promise<OpenedStore>;
  /**
   * Writes a batch in one transaction. A batch has at most one operation per key, no two that share a claim, and none
   * that requires a claim that another one changes.
   */
  commit(batch: readonly Operation[]): Promise<Committed>;
  /** The present rows in pages: of all kinds by key, of one kind in any order. */
  scan(kind?: number): AsyncIterable<readonly Row[]>;
  /**
   * The first changes after a revision, at most `limit`, in revision order and without gaps. Rejects with
   * CompactedError.
   */
  changes(after: number, limit: number): Promise<readonly Change[]>;
  /** The latest revision; linearizable. */
  currentRevision(): Promise<number>;
  /**
   * Rejects with StoreError `newer` once a newer program has upgraded the tables. Writes check that in their own
   * transaction; this method is for a server without writes.
   */
  checkSchema(): Promise<void>;
  /**
   * Calls `wake` with a hint that there may be a new revision; hints may be lost or wrong. Returns a function that
   * unsubscribes.
   */
  subscribe(wake: (revision: number) => void): () => void;
  /** Drops changes up to a revision, at most `maxRows` of them; returns their number. compactRevision is updated. */
  compact(upTo: number, maxRows: number): Promise<number>;
  /** The durable number of a name (`kind:<group>/<plural>`, `index:…`), assigned at first use; from 1. */
  numberOf(name: string): Promise<number>;
  /** Every numbered name that starts with `prefix`, in no particular order. */
  names(prefix: string): Promise<readonly string[]>;
  /** The unique indexes of a kind, without its claims: there may be millions of claims. */
  uniqueIndexes(kind: number): Promise<StoredIndexes>;
  /** The claims of a kind at one revision. Takes no locks. */
  claims(kind: number): Promise<StoredClaims>;
  /**
   * Sets the unique indexes of a kind and its claims exactly to these, in one transaction. It is for start-up, when
   * an index may have been added, removed or changed. Any change makes a new generation. If the claims are `behind`,
   * only the indexes are set, under a new generation: writers with other indexes are refused from then on, and the
   * next attempt succeeds.
   */
  setClaims(kind: number, claims: KindClaims): Promise<ClaimsOutcome>;
  /**
   * Restarts the history of an empty database at a revision, with a new epoch. Rejects with StoreError `refused` when
   * the database has objects.
   */
  startHistory(revision: number): Promise<OpenedStore>;
  /**
   * Copies the database, while it is in use, into a new file beside it that only its owner can read, and resolves with
   * the path. The caller deletes the file. The copy has all writes that were acknowledged before the call. A database
   * that is opened from the copy continues at a later revision, with a new epoch. This method is absent where the
   * engine's own tools make copies.
   */
  readonly backUp?: (() => Promise<string>) | undefined;
  /** Absent when the engine cannot keep such data, so that each start computes it. */
  readonly kept?: KeptStore | undefined;
  /** Absent when the engine has no place for such files. */
  readonly snapshots?: SnapshotStore | undefined;
  close(): Promise<void>;
}
