import { conflictCodes, operationNames, outcomeOfCode } from './operation-codes.ts';
import { unpackNotes } from './packed-notes.ts';
import type { PackedNotes } from './packed-notes.ts';
import type { Claim, Committed, Operation, Outcome, RequiredClaim } from './store.ts';

/**
 * A batch as columns, for messages between threads or processes. `numbers` has for each operation: op, kind, expect
 * (NaN for none), the length of the data (-1 for none), and the generation (-1 for none).
 */
export interface PackedBatch {
  readonly keys: readonly string[];
  readonly numbers: Float64Array;
  /**
   * The data of all operations. The bytes are passed as a view: in a message, node:v8 copies an ArrayBuffer, but not a
   * view.
   */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The changes of unique values, with the positions of their operations; absent when no operation has any. */
  readonly unique?: readonly (readonly [position: number, unique: NonNullable<Operation['unique']>])[];
  /** The required claims, and the positions of the operations that require each of them. */
  readonly required?: readonly (readonly [requires: RequiredClaim, positions: readonly number[]])[];
  /**
   * The `note` of each operation: bytes that other processes receive with the change. Absent when no operation has a
   * `note`, and in messages to the thread of SQLite, which does not use them.
   */
  readonly notes?: PackedNotes | undefined;
}

/** The outcomes of a batch. `codes` has the revision of each operation, or a negative number for a conflict. */
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

export const batchStride = 5;

export function packBatch(batch: readonly Operation[]): PackedBatch {
  const keys: string[] = [];
  const numbers = new Float64Array(batch.length * batchStride);
  const unique: [number, NonNullable<Operation['unique']>][] = [];
  const required = new Map<RequiredClaim, number[]>();
  let total = 0;
  for (const { data } of batch) total += data?.byteLength ?? 0;
  // The buffer is never empty, because node:sqlite of Node 22 binds a view of an empty buffer as NULL.
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
    bytes,
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
  const outcomes: Outcome[] = [];
  for (const code of codes) outcomes.push(code < 0 ? outcomeOfCode(code) : { revision: code });
  for (const { position, holder, claim } of unique) outcomes[position] = { conflict: 'unique', holder, claim };
  return outcomes;
}

/**
 * Returns the operations of a batch. Their data are views into the batch's buffer. Throws TypeError for an unknown
 * operation.
 */
export function unpackBatch({ keys, numbers, bytes, unique, required = [], notes }: PackedBatch): Operation[] {
  const requiredAt: RequiredClaim[][] = [];
  for (const [claim, positions] of required) {
    for (const position of positions) (requiredAt[position] ??= []).push(claim);
  }
  const claims = unique && new Map(unique);
  const noted = unpackNotes(notes);
  let offset = 0;
  return keys.map((key, position) => {
    const at = position * batchStride;
    const code = numbers[at] ?? -1;
    const kind = numbers[at + 1] ?? 0;
    const expect = numbers[at + 2] ?? NaN;
    const length = numbers[at + 3] ?? -1;
    const generation = numbers[at + 4] ?? -1;
    const op = operationNames[code];
    if (op === undefined) throw new TypeError(`operation on ${key} is none of ${operationNames.join(', ')}`);
    const data = length < 0 ? undefined : bytes.subarray(offset, offset + length);
    offset += Math.max(length, 0);
    const claimed = claims?.get(position);
    const requires = requiredAt[position];
    const note = noted?.[position];
    return {
      op,
      key,
      kind,
      ...(Number.isNaN(expect) ? {} : { expect }),
      ...(data === undefined ? {} : { data }),
      ...(claimed === undefined ? {} : { unique: claimed }),
      ...(generation < 0 ? {} : { generation }),
      ...(requires === undefined ? {} : { requires }),
      ...(note === undefined ? {} : { note }),
    };
  });
}

export function packOutcomes({ before, outcomes }: Committed): PackedOutcomes {
  const codes = new Float64Array(outcomes.length);
  const unique: UniqueConflict[] = [];
  for (const [position, outcome] of outcomes.entries()) {
    codes[position] = 'revision' in outcome ? outcome.revision : conflictCodes[outcome.conflict];
    if ('holder' in outcome) unique.push({ position, holder: outcome.holder, claim: outcome.claim });
  }
  return { before, codes, unique };
}
