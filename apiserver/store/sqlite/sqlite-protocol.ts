import type { PackedBatch, PackedOutcomes } from '../packed-batch.ts';
import type { PackedPage } from '../packed-page.ts';
import type { SqlitePragmas } from './sqlite-connection.ts';
import type {
  ClaimsOutcome,
  KeptData,
  KindClaims,
  OpenedStore,
  SnapshotMark,
  StoredClaims,
  StoredIndexes,
} from '../store.ts';
import type { PackedItems } from '../packed-items.ts';
import type { StoreErrorCode } from '../store-error.ts';

/**
 * The messages between the store and its worker thread. The bytes of a whole batch or page are one transferred buffer,
 * and all its numbers are one array. A message for each object, or an array of typed arrays, would cost more than the
 * commit.
 */
export interface SqliteCalls {
  open: { request: { readonly path?: string }; answer: OpenedStore };
  commit: { request: PackedBatch; answer: PackedOutcomes };
  beginScan: { request: { readonly kind?: number | undefined }; answer: BegunScan };
  keys: { request: { readonly revisions: Float64Array }; answer: readonly string[] };
  rows: { request: { readonly revisions: Float64Array }; answer: PackedPage };
  endScan: { request: { readonly scan: number }; answer: void };
  changes: { request: { readonly after: number; readonly limit: number }; answer: PackedPage };
  compact: { request: { readonly upTo: number; readonly maxRows: number }; answer: number };
  numberOf: { request: { readonly name: string }; answer: number };
  names: { request: { readonly prefix: string }; answer: readonly string[] };
  uniqueIndexes: { request: { readonly kind: number }; answer: StoredIndexes };
  claims: { request: { readonly kind: number }; answer: StoredClaims };
  setClaims: { request: ClaimsOfKind; answer: ClaimsOutcome };
  startHistory: { request: { readonly revision: number }; answer: OpenedStore };
  readKept: { request: { readonly kind: number; readonly from: number }; answer: StoredPart | undefined };
  writeKept: { request: { readonly kind: number } & StoredPart; answer: void };
  dropKept: { request: { readonly kind: number }; answer: boolean };
  readMark: { request: { readonly kind: number }; answer: SnapshotMark | undefined };
  writeMark: { request: { readonly kind: number } & SnapshotMark; answer: void };
  backUp: { request: { readonly path: string }; answer: void };
  pragmas: { request: object; answer: SqlitePragmas };
  close: { request: object; answer: undefined };
}

/** A row of the table `kept`, without the kind. */
export type StoredPart = Pick<KeptData, 'last' | 'data'>;

/**
 * The result of beginning a scan: the revisions of all objects at this time, in ascending order. The states with these
 * revisions can be read until `endScan`, unless a million changes are made meanwhile.
 */
export interface BegunScan {
  readonly scan: number;
  readonly revisions: Float64Array<ArrayBuffer>;
}

export interface ClaimsOfKind {
  readonly kind: number;
  readonly wanted: Omit<KindClaims, 'claims'> & { readonly claims: PackedItems };
}

/** A request to the store's worker thread. The response has the same id. */
export interface CallMessage<Type extends keyof SqliteCalls = keyof SqliteCalls> {
  readonly id: number;
  readonly type: Type;
  readonly request: SqliteCalls[Type]['request'];
}

export type AnswerMessage = { readonly id: number } & (
  | { readonly answer: unknown }
  | { readonly failure: { readonly code: StoreErrorCode; readonly message: string } }
  | { readonly compacted: number }
);
