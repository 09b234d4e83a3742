import type { PackedBatch, PackedOutcomes } from '../packed-batch.ts';
import type { PackedItems } from '../packed-items.ts';
import type { PackedPage } from '../packed-page.ts';
import type { StoreErrorCode } from '../store-error.ts';
import type { ClaimsOutcome, KindClaims, OpenedStore, StoredIndexes } from '../store.ts';

/**
 * The calls that another process makes to the owner of a database. Requests and responses are the packed arguments and
 * results of the store's methods.
 */
export interface OwnerCalls {
  open: { request: undefined; answer: OpenedStore & { readonly canBackUp: boolean } };
  commit: { request: PackedBatch; answer: PackedOutcomes };
  /** Begins a scan. The response is the number of the scan. */
  beginScan: { request: { readonly kind?: number | undefined }; answer: number };
  /** Requests the next page of a scan. The response is undefined when the scan has ended. */
  nextPage: { request: number; answer: PackedPage | undefined };
  endScan: { request: number; answer: void };
  changes: { request: { readonly after: number; readonly limit: number }; answer: readonly PackedPage[] };
  currentRevision: { request: undefined; answer: number };
  checkSchema: { request: undefined; answer: void };
  compact: { request: { readonly upTo: number; readonly maxRows: number }; answer: number };
  numberOf: { request: string; answer: number };
  names: { request: string; answer: readonly string[] };
  uniqueIndexes: { request: number; answer: StoredIndexes };
  claims: { request: number; answer: PackedStoredClaims };
  setClaims: { request: PackedKindClaims; answer: ClaimsOutcome };
  startHistory: { request: number; answer: OpenedStore };
  backUp: { request: undefined; answer: string };
}

interface PackedStoredClaims extends StoredIndexes {
  readonly claims: PackedItems;
  readonly revision: number;
}

interface PackedKindClaims {
  readonly kind: number;
  readonly wanted: Omit<KindClaims, 'claims'> & { readonly claims: PackedItems };
}

/** A request to the owner. The response has the same id. */
export interface OwnerRequest<Type extends keyof OwnerCalls = keyof OwnerCalls> {
  readonly id: number;
  readonly type: Type;
  readonly request: OwnerCalls[Type]['request'];
}

/** A message from the owner of the database: a response, or changes that were just committed. */
export type OwnerReply =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly failure: { readonly code: StoreErrorCode; readonly message: string } }
  | { readonly id: number; readonly compacted: number }
  | { readonly committed: CommittedChanges };

/** All changes with a revision greater than `after`, up to and including `upTo`. */
export interface CommittedChanges {
  readonly after: number;
  readonly upTo: number;
  readonly pages: readonly PackedPage[];
}
