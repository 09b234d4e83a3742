/** Unique value: index number (see {@link Store.numberOf}) and the index's value. */
export type Claim = readonly [index: number, value: string];

export interface Operation {
  readonly op: 'create' | 'update' | 'delete';
  /** `/registry/<group>/<plural>/[<namespace>/]<name>`, validated before it gets here. At most 700 bytes. */
  readonly key: string;
  /** Number of the kind. */
  readonly kind: number;
  /** Revision of the stored object; required by update and delete. */
  readonly expect?: number;
  /** The object's bytes; required by create and update. A delete may carry the last state that its log row shall hold. */
  readonly data?: Uint8Array;
  readonly unique?: { readonly add: readonly Claim[]; readonly remove: readonly Claim[] };
  /**
   * The generation of the kind's unique indexes, as {@link Store.setClaims} returned it. A writer with other indexes
   * would claim too little, so its write is refused. Absent: not checked.
   */
  readonly generation?: number;
  /** Claims, of any kinds, that all have a holder when this is committed. Absent: none. */
  readonly requires?: readonly RequiredClaim[];
}

export interface RequiredClaim {
  /** Number of the kind that it is a claim of. */
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

/** What became of a batch. */
export interface Committed {
  /** The database's revision just before: what others have written up to here comes before the batch's own. */
  readonly before: number;
  /** In the order of the batch. */
  readonly outcomes: readonly Outcome[];
}

/** The unique indexes of a kind and all that its objects claim. */
export interface KindClaims {
  /** Numbers of the indexes, whether anything is claimed under them or not. */
  readonly indexes: readonly number[];
  /** Distinct. */
  readonly claims: readonly { readonly claim: Claim; readonly key: string }[];
  /** The objects are those of this revision. */
  readonly revision: number;
}

/** `behind`: objects of the kind have changed after the revision, or it is compacted and nobody can tell. */
export type ClaimsOutcome = { readonly generation: number } | { readonly refused: 'behind' };

/** A claim as it is stored. */
export interface StoredClaim {
  readonly index: number;
  /** The value in the form of `storedClaimValue`. */
  readonly value: string;
  readonly key: string;
}

/** The unique indexes of a kind, and what is claimed under them, as the store has them at a revision. */
export interface StoredClaims {
  /** 0 until they are first set. */
  readonly generation: number;
  readonly indexes: readonly number[];
  readonly claims: readonly StoredClaim[];
  readonly revision: number;
}

export interface Row {
  readonly key: string;
  readonly revision: number;
  readonly data: Uint8Array;
}

export interface Change {
  readonly revision: number;
  readonly op: 'create' | 'update' | 'delete';
  readonly key: string;
  readonly kind: number;
  /** The new bytes; of a delete, the last ones. */
  readonly data: Uint8Array;
  /** The row before; absent for create. */
  readonly previous?: { readonly revision: number; readonly data: Uint8Array };
}

export interface OpenedStore {
  readonly revision: number;
  /** Changes up to here are gone. */
  readonly compactRevision: number;
  /** A UUID that is new whenever history may have gone back. */
  readonly epoch: string;
}

/** `changes` was asked for what is compacted. */
export class CompactedError extends Error {
  override readonly name = 'CompactedError';
  readonly compactRevision: number;

  constructor(compactRevision: number) {
    super(`changes up to revision ${compactRevision} are compacted`);
    this.compactRevision = compactRevision;
  }
}

/**
 * Durable, ordered storage of opaque bytes. Invariants, proved for every driver by `store.contract.ts`:
 * a commit is atomic and durable when it resolves; revisions strictly increase in commit order (gaps are legal); if a
 * revision is visible, so is every smaller one that will ever exist; a conflict fails its operation, never a neighbour.
 */
export interface Store {
  /** Other processes may write to the same database: who keeps anything in memory has to follow {@link changes}. */
  readonly isShared: boolean;
  open(): Promise<OpenedStore>;
  /** One transaction. At most one operation a key, none that share a claim, and none that requires what another changes. */
  commit(batch: readonly Operation[]): Promise<Committed>;
  /** Present rows in pages, by key; all kinds, or one. */
  scan(kind?: number): AsyncIterable<readonly Row[]>;
  /** Changes after a revision, in revision order, a complete prefix of at most `limit`. Rejects with CompactedError. */
  changes(after: number, limit: number): Promise<readonly Change[]>;
  /** Linearizable. */
  currentRevision(): Promise<number>;
  /**
   * Rejects with StoreError `newer` once a newer program has upgraded the tables. Writes check that in their own transaction;
   * this method is for a server that has nothing to write.
   */
  checkSchema(): Promise<void>;
  /** A hint that there is something new; may be lost, may be wrong. Returns how to stop. */
  subscribe(wake: (revision: number) => void): () => void;
  /** Drops changes up to a revision, at most `maxRows` of them; answers how many went. compactRevision follows. */
  compact(upTo: number, maxRows: number): Promise<number>;
  /** The durable number of a name (`kind:<group>/<plural>`, `index:…`), made at first use; from 1. */
  numberOf(name: string): Promise<number>;
  /** Every name that has a number and begins with `prefix`, in no particular order. */
  names(prefix: string): Promise<readonly string[]>;
  /** The claims of a kind at one revision. Takes no locks. */
  claims(kind: number): Promise<StoredClaims>;
  /**
   * Makes the unique indexes of a kind, and its claims, exactly these, in one transaction. For start-up, when an index may
   * have come, gone or changed. The generation is a new one when anything was changed. Where the claims are `behind`, only
   * the indexes are set, under a new generation: who knows others writes no more, and the next attempt succeeds.
   */
  setClaims(kind: number, claims: KindClaims): Promise<ClaimsOutcome>;
  /**
   * Restarts the history of an empty database at a revision, with a new epoch. Rejects with StoreError `refused` when
   * the database has objects.
   */
  startHistory(revision: number): Promise<OpenedStore>;
  close(): Promise<void>;
}
