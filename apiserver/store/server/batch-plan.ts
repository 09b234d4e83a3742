import { storedClaimValue } from '../claim-value.ts';
import type { Claim, Operation, Outcome } from '../store.ts';
import { StoreError } from '../store-error.ts';

/** The state of the database on which a batch depends. The state must not change before the batch is written. */
export interface BatchState {
  /** The last revision that the database has assigned. */
  readonly revision: number;
  /** The revisions of those objects among {@link BatchNeeds.keys} that exist, by key. */
  readonly revisions: ReadonlyMap<string, number>;
  /**
   * The generation of the unique indexes of each kind in {@link BatchNeeds.generations}, by the number of the kind; 0
   * for a kind whose unique indexes were never set.
   */
  readonly generations: ReadonlyMap<number, number>;
  /** For each claim in {@link BatchNeeds.claims} that an object has: the key of this object, by {@link claimId}. */
  readonly holders: ReadonlyMap<string, string>;
}

/** The primary key of a row of the table `uniq`. */
export interface ClaimRow {
  readonly kind: number;
  readonly index: number;
  /** The claimed value, in the form in which the database stores it: `=` and the value, or `#` and its hash. */
  readonly value: string;
}

export interface BatchNeeds {
  readonly keys: ReadonlyMap<number, readonly string[]>;
  readonly claims: readonly ClaimRow[];
  /**
   * The kinds, by their numbers in the database, whose generation of unique indexes must be read: each is the kind of
   * an operation with the field `generation`.
   */
  readonly generations: readonly number[];
}

export interface PlannedWrite {
  readonly operation: Operation;
  readonly revision: number;
}

/** The rows that a batch must write, and the outcome that each operation of the batch has once they are written. */
export interface BatchPlan {
  readonly outcomes: readonly Outcome[];
  readonly writes: readonly PlannedWrite[];
  /**
   * The claims that must be taken from the objects that have them now. If another object gets such a claim, the claim
   * is also in `taken`.
   */
  readonly dropped: readonly ClaimRow[];
  readonly taken: readonly (ClaimRow & { readonly key: string })[];
  /** The revision of the last write of the batch; if the batch writes nothing, the last revision before the batch. */
  readonly revision: number;
}

export function claimId({ kind, index, value }: ClaimRow): string {
  return `${kind}/${index}/${value}`;
}

/**
 * Returns which keys, claims and generations must be read before a batch can be decided. Throws StoreError `refused`
 * for a batch that breaks the contract of the store; the caller must then write no part of the batch.
 */
export function needsOf(batch: readonly Operation[]): BatchNeeds {
  const seen = new Set<string>();
  const keys = new Map<number, string[]>();
  const claims = new Map<string, ClaimRow>();
  const generations = new Set<number>();
  for (const operation of batch) {
    checkOperation(operation);
    if (seen.has(operation.key)) throw new StoreError('refused', `two operations on ${operation.key} in one batch`);
    seen.add(operation.key);
    const ofKind = keys.get(operation.kind);
    if (ofKind) ofKind.push(operation.key);
    else keys.set(operation.kind, [operation.key]);
    for (const row of claimRowsOf(operation)) claims.set(claimId(row), row);
    if (operation.generation !== undefined) generations.add(operation.kind);
  }
  return { keys, claims: [...claims.values()], generations: [...generations] };
}

/**
 * Decides a batch in the order of its operations. A conflict fails only the operation that has it. The function is
 * pure, and does not depend on the SQL dialect.
 */
export function planBatch(batch: readonly Operation[], state: BatchState): BatchPlan {
  const holders = new Map(state.holders);
  const touched = new Map<string, ClaimRow>();
  const writes: PlannedWrite[] = [];
  let { revision } = state;
  const outcomes = batch.map((operation): Outcome => {
    const conflict =
      missingClaim(operation, holders) ??
      generationConflict(operation, state.generations) ??
      stateConflict(operation, state.revisions.get(operation.key)) ??
      lostClaim(operation, holders);
    if (conflict) return conflict;
    moveClaims(operation, holders, touched);
    revision += 1;
    writes.push({ operation, revision });
    return { revision };
  });
  return { outcomes, writes, revision, ...claimChanges(touched, state.holders, holders) };
}

function checkOperation({ op, key, kind, data }: Operation): void {
  // A caller in JavaScript has no compiler that checks `op`.
  if (op !== 'create' && op !== 'update' && op !== 'delete') {
    throw new StoreError('refused', `operation on ${key} is not one of create, update, delete`);
  }
  if (!Number.isSafeInteger(kind) || kind < 0) throw new StoreError('refused', `operation on ${key} has no kind`);
  if (op !== 'delete' && data === undefined) throw new StoreError('refused', `${op} of ${key} has no data`);
}

function generationConflict(
  { kind, generation }: Operation,
  generations: ReadonlyMap<number, number>,
): Outcome | undefined {
  if (generation === undefined || generation === (generations.get(kind) ?? 0)) return undefined;
  return { conflict: 'generation' };
}

function missingClaim({ requires }: Operation, holders: ReadonlyMap<string, string>): Outcome | undefined {
  const isHeld = requires?.every((each) => holders.has(claimId(rowOf(each, each.claim)))) ?? true;
  return isHeld ? undefined : { conflict: 'requires' };
}

function stateConflict({ op, expect }: Operation, revision: number | undefined): Outcome | undefined {
  if (op === 'create') return revision === undefined ? undefined : { conflict: 'exists' };
  if (revision === undefined) return { conflict: 'notFound' };
  return revision === expect ? undefined : { conflict: 'revision' };
}

function lostClaim(operation: Operation, holders: ReadonlyMap<string, string>): Outcome | undefined {
  for (const claim of operation.unique?.add ?? []) {
    const holder = holders.get(claimId(rowOf(operation, claim)));
    if (holder !== undefined && holder !== operation.key) return { conflict: 'unique', holder, claim };
  }
  return undefined;
}

function moveClaims(operation: Operation, holders: Map<string, string>, touched: Map<string, ClaimRow>): void {
  const { add = [], remove = [] } = operation.unique ?? {};
  for (const claim of remove) {
    const row = rowOf(operation, claim);
    // Only the holder of a claim can release it.
    if (holders.get(claimId(row)) === operation.key) holders.delete(claimId(row));
    touched.set(claimId(row), row);
  }
  for (const claim of add) {
    const row = rowOf(operation, claim);
    holders.set(claimId(row), operation.key);
    touched.set(claimId(row), row);
  }
}

function claimChanges(
  touched: ReadonlyMap<string, ClaimRow>,
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): Pick<BatchPlan, 'dropped' | 'taken'> {
  const changed = [...touched].filter(([id]) => before.get(id) !== after.get(id));
  return {
    dropped: changed.filter(([id]) => before.has(id)).map(([, row]) => row),
    taken: changed.flatMap(([id, row]) => {
      const key = after.get(id);
      return key === undefined ? [] : [{ ...row, key }];
    }),
  };
}

function claimRowsOf(operation: Operation): ClaimRow[] {
  const { unique: { add, remove } = { add: [], remove: [] }, requires = [] } = operation;
  const own = [...add, ...remove].map((claim) => rowOf(operation, claim));
  return [...own, ...requires.map((each) => rowOf(each, each.claim))];
}

function rowOf({ kind }: Pick<Operation, 'kind'>, [index, value]: Claim): ClaimRow {
  return { kind, index, value: storedClaimValue(value) };
}
