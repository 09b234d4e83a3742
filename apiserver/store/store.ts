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
}

export type Outcome =
  | { readonly revision: number }
  | { readonly conflict: 'revision' | 'exists' | 'notFound' }
  | {
      readonly conflict: 'unique';
      /** Key of the object that has the value. */ readonly holder: string;
      readonly claim: Claim;
    };

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
  open(): Promise<OpenedStore>;
  /** One transaction; outcomes in the order of the batch. At most one operation a key, and none that share a claim. */
  commit(batch: readonly Operation[]): Promise<readonly Outcome[]>;
  /** Present rows in pages, by key; all kinds, or one. */
  scan(kind?: number): AsyncIterable<readonly Row[]>;
  /** Changes after a revision, in revision order, a complete prefix of at most `limit`. Rejects with CompactedError. */
  changes(after: number, limit: number): Promise<readonly Change[]>;
  /** Linearizable. */
  currentRevision(): Promise<number>;
  /** A hint that there is something new; may be lost, may be wrong. Returns how to stop. */
  subscribe(wake: (revision: number) => void): () => void;
  /** Drops changes up to a revision, at most `maxRows` of them; answers how many went. compactRevision follows. */
  compact(upTo: number, maxRows: number): Promise<number>;
  /** The durable number of a name (`kind:<group>/<plural>`, `index:…`), made at first use; from 1. */
  numberOf(name: string): Promise<number>;
  /**
   * Makes the unique claims of a kind exactly these, in one transaction; answers how many differed. For start-up, when
   * an index may have come, gone or changed. Claims are distinct.
   */
  replaceClaims(kind: number, claims: readonly { readonly claim: Claim; readonly key: string }[]): Promise<number>;
  close(): Promise<void>;
}
