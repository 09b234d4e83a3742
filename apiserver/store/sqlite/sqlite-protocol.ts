import type { SqlitePragmas } from './sqlite-connection.ts';
import type {
  Change,
  Claim,
  ClaimsOutcome,
  KeptData,
  KindClaims,
  OpenedStore,
  Operation,
  Outcome,
  RequiredClaim,
  Row,
  StoredClaims,
  StoredIndexes,
} from '../store.ts';
import type { Steps } from '../../turns/steps.ts';
import type { StoreErrorCode } from '../store-error.ts';
import { operationNames, outcomeOfCode } from '../operation-codes.ts';

/**
 * The messages between the store and its worker. The bytes of a whole batch or page are one transferred buffer and all
 * numbers one array: a message per object, or an array of typed arrays, costs more than the commit.
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
  dropKept: { request: { readonly kind: number }; answer: void };
  backUp: { request: { readonly path: string }; answer: void };
  pragmas: { request: object; answer: SqlitePragmas };
  close: { request: object; answer: undefined };
}

/** A row of `kept`. */
export type StoredPart = Pick<KeptData, 'last' | 'data'>;

/** The states of the objects at one revision, by their revisions in ascending order. They can be read until `endScan`. */
export interface BegunScan {
  readonly scan: number;
  readonly revisions: Float64Array<ArrayBuffer>;
}

export interface ClaimsOfKind {
  readonly kind: number;
  readonly wanted: Omit<KindClaims, 'claims'> & { readonly claims: PackedClaims };
}

/**
 * Claims as JSON, some thousands in each part: the structured clone of that many objects would block the main thread as
 * long as all parts together.
 */
export type PackedClaims = readonly Uint8Array<ArrayBuffer>[];

/** A posted request; the response has the same id. */
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

/** `numbers`: op, kind, expect (NaN: none), length of the data (-1: none), generation (-1: none) for each operation. */
export interface PackedBatch {
  readonly keys: readonly string[];
  readonly numbers: Float64Array;
  readonly bytes: ArrayBuffer;
  /** By position; absent when no operation has any. */
  readonly unique?: readonly (readonly [position: number, unique: NonNullable<Operation['unique']>])[];
  /** The same, by claim: the positions of the operations that require it. */
  readonly required?: readonly (readonly [requires: RequiredClaim, positions: readonly number[]])[];
}

/** `codes`: the revision, or a number below zero for a conflict. */
export interface PackedOutcomes {
  readonly before: number;
  readonly codes: Float64Array;
  readonly unique: readonly UniqueConflict[];
}

export interface UniqueConflict {
  readonly position: number;
  readonly holder: string;
  readonly claim: Claim;
}

/** `numbers`: revision, op, kind, length of the data, length and revision of the row before (-1: none) for each row. */
export interface PackedPage {
  readonly keys: readonly string[];
  readonly numbers: Float64Array;
  readonly bytes: ArrayBuffer;
  /** True when no page follows. */
  readonly isLast: boolean;
}

/** The most rows of a page, which may end before because of its bytes. */
export const maxPageRows = 1000;

export const batchStride = 5;
const pageStride = 6;

export function packBatch(batch: readonly Operation[]): PackedBatch {
  const keys: string[] = [];
  const numbers = new Float64Array(batch.length * batchStride);
  const unique: [number, NonNullable<Operation['unique']>][] = [];
  const required = new Map<RequiredClaim, number[]>();
  let total = 0;
  for (const { data } of batch) total += data?.byteLength ?? 0;
  // Never an empty buffer: node:sqlite of Node 22 takes a view of one for NULL.
  const bytes = new Uint8Array(Math.max(total, 1));
  let offset = 0;
  for (const [position, operation] of batch.entries()) {
    const { data } = operation;
    keys.push(operation.key);
    const at = position * batchStride;
    numbers[at] = operationNames.indexOf(operation.op);
    numbers[at + 1] = operation.kind;
    numbers[at + 2] = operation.expect ?? NaN;
    numbers[at + 3] = data?.byteLength ?? -1;
    numbers[at + 4] = operation.generation ?? -1;
    if (data) bytes.set(data, offset);
    offset += data?.byteLength ?? 0;
    if (operation.unique) unique.push([position, operation.unique]);
    for (const claim of operation.requires ?? []) addPosition(required, claim, position);
  }
  return {
    keys,
    numbers,
    bytes: bytes.buffer,
    ...(unique.length > 0 ? { unique } : {}),
    ...(required.size > 0 ? { required: [...required] } : {}),
  };
}

function addPosition(required: Map<RequiredClaim, number[]>, claim: RequiredClaim, position: number): void {
  const positions = required.get(claim);
  if (positions === undefined) required.set(claim, [position]);
  else positions.push(position);
}

export function unpackOutcomes({ codes, unique }: PackedOutcomes): readonly Outcome[] {
  const outcomes = Array.from(codes, outcomeOfCode);
  for (const { position, holder, claim } of unique) outcomes[position] = { conflict: 'unique', holder, claim };
  return outcomes;
}

/** Claims in one part: one to two milliseconds. */
const claimsPerPart = 2_000;

/** One step per part. */
export function* packClaims(claims: KindClaims['claims']): Steps<PackedClaims> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let from = 0; from < claims.length; from += claimsPerPart) {
    yield;
    // Separate memory, which can be transferred.
    parts.push(new TextEncoder().encode(JSON.stringify(claims.slice(from, from + claimsPerPart))));
  }
  return parts;
}

export function unpackClaims(parts: PackedClaims): KindClaims['claims'] {
  return parts.flatMap((part) => JSON.parse(new TextDecoder().decode(part)) as KindClaims['claims']);
}

/** A row from SQLite; in a scan it has no op, kind or previous. */
export interface StoredRow {
  readonly key: string;
  readonly revision: number;
  readonly data: Uint8Array;
  readonly op?: number;
  readonly kind?: number;
  readonly previous?: Uint8Array | null;
  readonly previousRevision?: number | null;
}

export function packPage(rows: readonly StoredRow[], isLast: boolean): PackedPage {
  const keys: string[] = [];
  const numbers = new Float64Array(rows.length * pageStride);
  let total = 0;
  for (const row of rows) total += row.data.byteLength + (row.previous?.byteLength ?? 0);
  const bytes = new Uint8Array(total);
  let offset = 0;
  for (const [position, row] of rows.entries()) {
    keys.push(row.key);
    const length = row.data.byteLength;
    numbers.set(
      [row.revision, row.op ?? 0, row.kind ?? 0, length, row.previous?.byteLength ?? -1, row.previousRevision ?? -1],
      position * pageStride,
    );
    bytes.set(row.data, offset);
    if (row.previous) bytes.set(row.previous, offset + length);
    offset += length + (row.previous?.byteLength ?? 0);
  }
  return { keys, numbers, bytes: bytes.buffer, isLast };
}

/** Rows that are views into the page's buffer. */
export function unpackRows({ keys, numbers, bytes }: PackedPage): Row[] {
  const rows: Row[] = [];
  let offset = 0;
  for (const [position, key] of keys.entries()) {
    const at = position * pageStride;
    const length = numbers[at + 3] ?? 0;
    rows.push({ key, revision: numbers[at] ?? 0, data: new Uint8Array(bytes, offset, length) });
    offset += length;
  }
  return rows;
}

/** Changes that are views into the page's buffer. */
export function unpackChanges({ keys, numbers, bytes }: PackedPage): Change[] {
  const changes: Change[] = [];
  let offset = 0;
  for (const [position, key] of keys.entries()) {
    const at = position * pageStride;
    const [revision = 0, op = 0, kind = 0, length = 0, previousLength = -1, previousRevision = -1] = numbers.subarray(
      at,
      at + pageStride,
    );
    const change = { revision, op: operationNames[op] ?? 'update', key, kind };
    const data = new Uint8Array(bytes, offset, length);
    offset += length;
    if (previousLength < 0) {
      changes.push({ ...change, data });
      continue;
    }
    const previous = { revision: previousRevision, data: new Uint8Array(bytes, offset, previousLength) };
    changes.push({ ...change, data, previous });
    offset += previousLength;
  }
  return changes;
}
