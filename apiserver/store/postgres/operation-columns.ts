import { storedClaimValue } from '../claim-value.ts';
import { conflictCodes, operationCodes, outcomeOfCode } from '../operation-codes.ts';
import type { Claim, Operation, Outcome, RequiredClaim } from '../store.ts';

/**
 * A batch as columns with one value for each operation. So a statement has a few arrays as parameters, whatever the
 * size of the batch. The data of all operations are one byte string, because drivers send an array of byte strings as
 * hexadecimal text, at half the speed.
 */
export interface OperationColumns {
  readonly codes: readonly (number | undefined)[];
  readonly kinds: readonly number[];
  readonly keys: readonly string[];
  /** The expected revisions; -1, which is no revision, when none is expected. */
  readonly expects: readonly number[];
  /** The positions of the data in `bytes`, counted from 1, as in `substring`. */
  readonly starts: readonly number[];
  /** The length of the data of each operation; -1 for an operation without data. */
  readonly lengths: readonly number[];
  readonly bytes: Buffer;
  readonly generations: GenerationColumns | undefined;
  readonly claims: ClaimColumns | undefined;
  readonly required: RequiredColumns | undefined;
}

/**
 * The generations of unique indexes that the operations of a batch require, as columns. Equal requirements of several
 * operations are sent once, in `kinds` and `values`.
 */
interface GenerationColumns {
  /**
   * Has one number for each operation: 1 when the operation requires that the kind `kinds[0]` has the generation
   * `values[0]` of its unique indexes, 2 for `kinds[1]` and `values[1]`, and so on. It is undefined for an operation
   * that requires no generation.
   */
  readonly requirements: readonly (number | undefined)[];
  readonly kinds: readonly number[];
  readonly values: readonly number[];
}

/**
 * The claims that the operations of a batch require, as columns. Operations that require the same claims share one set
 * of claims; the sets are numbered from 1. `sets`, `kinds`, `indexes` and `values` have one item for each claim of each
 * set; the item of `sets` is the number of the set.
 */
interface RequiredColumns {
  /**
   * For each operation, the number in `sets` that identifies the claims that the operation requires; undefined when the
   * operation requires no claims.
   */
  readonly numbers: readonly (number | undefined)[];
  readonly sets: readonly number[];
  readonly kinds: readonly number[];
  readonly indexes: readonly number[];
  readonly values: readonly string[];
}

/**
 * The claims of a batch as columns: those to add, and those to remove. `positions` has for each claim the position of
 * its operation in the batch, counted from 1.
 */
interface ClaimColumns {
  readonly added: ClaimColumn;
  readonly removed: ClaimColumn;
  /**
   * The claims to add, as the operations contain them. The item at a position is the claim that the columns of `added`
   * describe at this position.
   */
  readonly wanted: readonly Claim[];
}

interface ClaimColumn {
  readonly positions: number[];
  /** For each claim, the number of a kind: the kind of the object that the claim's operation writes or deletes. */
  readonly kinds: number[];
  /** For each claim, the key of the object that the claim's operation writes or deletes. */
  readonly keys: string[];
  readonly indexes: number[];
  readonly values: string[];
}

export function operationColumns(batch: readonly Operation[]): OperationColumns {
  const lengths = batch.map(({ data }) => data?.byteLength ?? -1);
  const starts: number[] = [];
  let total = 0;
  for (const length of lengths) {
    starts.push(total + 1);
    total += Math.max(length, 0);
  }
  const bytes = Buffer.allocUnsafe(total);
  for (const [position, { data }] of batch.entries()) if (data) bytes.set(data, (starts[position] ?? 1) - 1);
  return {
    codes: batch.map(({ op }) => operationCodes[op]),
    kinds: batch.map(({ kind }) => kind),
    keys: batch.map(({ key }) => key),
    expects: batch.map(({ expect }) => expect ?? -1),
    starts,
    lengths,
    bytes,
    generations: generationColumns(batch),
    claims: claimColumns(batch),
    required: requiredColumns(batch),
  };
}

/**
 * Returns which operations require a generation of the unique indexes of their kind, and which generations these are.
 * Returns undefined when no operation requires one.
 */
function generationColumns(batch: readonly Operation[]): GenerationColumns | undefined {
  const numbers = new Map<string, number>();
  const kinds: number[] = [];
  const values: number[] = [];
  const requirements = batch.map(({ kind, generation }) => {
    if (generation === undefined) return undefined;
    const id = `${kind} ${generation}`;
    const known = numbers.get(id);
    if (known !== undefined) return known;
    kinds.push(kind);
    values.push(generation);
    numbers.set(id, kinds.length);
    return kinds.length;
  });
  return kinds.length > 0 ? { requirements, kinds, values } : undefined;
}

/** Returns the columns of required claims; undefined when no operation requires one. */
function requiredColumns(batch: readonly Operation[]): RequiredColumns | undefined {
  const known = new Map<string, number>();
  const rows: { readonly set: number; readonly required: RequiredClaim }[] = [];
  const numbers = batch.map(({ requires }) => {
    if (requires === undefined || requires.length === 0) return undefined;
    const id = requires.map(requiredId).join(' ');
    const number = known.get(id) ?? known.size + 1;
    if (number > known.size) {
      known.set(id, number);
      rows.push(...requires.map((required) => ({ set: number, required })));
    }
    return number;
  });
  if (rows.length === 0) return undefined;
  return {
    numbers,
    sets: rows.map(({ set }) => set),
    kinds: rows.map(({ required }) => required.kind),
    indexes: rows.map(({ required }) => required.claim[0]),
    values: rows.map(({ required }) => storedClaimValue(required.claim[1])),
  };
}

/**
 * Returns the columns of claims; undefined when no operation has claims. Most operations change no unique value, and
 * should not have the cost of claims.
 */
function claimColumns(batch: readonly Operation[]): ClaimColumns | undefined {
  const wanted: Claim[] = [];
  const columns = { added: emptyColumn(), removed: emptyColumn(), wanted };
  for (const [at, operation] of batch.entries()) {
    if (!operation.unique) continue;
    const { add, remove } = operation.unique;
    for (const claim of add) {
      push(columns.added, at + 1, operation, claim);
      wanted.push(claim);
    }
    // A claim that the operation both removes and adds is kept, because one statement cannot delete and insert the same
    // row.
    const kept = new Set(add.map(claimId));
    for (const claim of remove) if (!kept.has(claimId(claim))) push(columns.removed, at + 1, operation, claim);
  }
  return columns.added.positions.length + columns.removed.positions.length > 0 ? columns : undefined;
}

function emptyColumn(): ClaimColumn {
  return { positions: [], kinds: [], keys: [], indexes: [], values: [] };
}

function push(column: ClaimColumn, position: number, { kind, key }: Operation, [index, value]: Claim): void {
  column.positions.push(position);
  column.kinds.push(kind);
  column.keys.push(key);
  column.indexes.push(index);
  column.values.push(storedClaimValue(value));
}

function claimId([index, value]: Claim): string {
  return `${index} ${value}`;
}

/** Returns the id of a required claim. No id is the prefix of another, so that the ids of a set can be concatenated. */
function requiredId({ kind, claim: [index, value] }: RequiredClaim): string {
  return `${kind} ${index} ${value.length} ${value}`;
}

/** The result of a statement for one operation. */
export interface OutcomeRow {
  /** The revision of the operation, or one of {@link conflictCodes}. */
  readonly code: number;
  /**
   * When another object holds a claim that the operation adds: `holder` is the key of that object, and `claim` is the
   * position of the claim among all claims to add, counted from 1.
   */
  readonly holder?: string | null;
  readonly claim?: number | null;
}

export function outcomeOf({ code, holder, claim }: OutcomeRow, claims: ClaimColumns | undefined): Outcome {
  const lost = code === conflictCodes.unique ? claims?.wanted[(claim ?? 0) - 1] : undefined;
  return lost === undefined ? outcomeOfCode(code) : { conflict: 'unique', holder: holder ?? '', claim: lost };
}
