import { conflictCodes, operationNames } from '../operation-codes.ts';
import { allSteps } from '../../turns/steps.ts';
import { claimDifference } from '../claim-difference.ts';
import { storedClaimValue } from '../claim-value.ts';
import { rowOf } from './sqlite-binding.ts';
import type { SqlDatabase, SqlStatement } from './sqlite-binding.ts';
import {
  batchStride,
  type ClaimsOfKind,
  type PackedBatch,
  type PackedOutcomes,
  type UniqueConflict,
  unpackClaims,
} from './sqlite-protocol.ts';
import * as sql from './sqlite-statements.ts';
import type { Claim, ClaimsOutcome, Operation, StoredClaim, StoredClaims, StoredIndexes } from '../store.ts';
import { StoreError } from '../store-error.ts';

interface PackedOperation {
  readonly op: (typeof operationNames)[number] | undefined;
  readonly key: string;
  readonly kind: number;
  readonly expect: number;
  readonly data: Uint8Array | null;
  readonly unique: Operation['unique'];
  /** -1: not checked. */
  readonly generation: number;
}

/** The writing side of a database: all transactions run here, one after the other. */
export class SqliteCommitter {
  readonly #statements: Statements;
  /** The generations of the kinds that were written to. */
  readonly #generations = new Map<number, number>();
  #revision: number;

  constructor(database: SqlDatabase) {
    this.#statements = prepareStatements(database);
    this.#revision = rowOf(database.prepare<{ readonly revision: number }>(sql.getCounter)).revision;
  }

  /** The revision of the last commit; durable. */
  get revision(): number {
    return this.#revision;
  }

  /** Writes the whole batch, or nothing and throws; each operation sees those before it. */
  commit(batch: PackedBatch): PackedOutcomes {
    const codes = new Float64Array(batch.keys.length);
    const lost: UniqueConflict[] = [];
    const before = this.#revision;
    const revision = this.transaction(() => {
      let next = this.#revision;
      const refused = this.#lackingRequired(batch);
      for (const [position, operation] of operationsOf(batch).entries()) {
        if (refused?.has(position) === true) {
          codes[position] = conflictCodes.requires;
          continue;
        }
        const code = this.#apply(operation, next + 1, (holder, claim) => lost.push({ position, holder, claim }));
        codes[position] = code;
        if (code > 0) next = code;
      }
      if (next > this.#revision) this.#statements.setCounter.run(next);
      return next;
    });
    this.#revision = revision;
    return { before, codes, unique: lost };
  }

  uniqueIndexes(kind: number): StoredIndexes {
    const { indexes, generation } = this.#indexesOf(kind);
    return { generation, indexes: indexes === '' ? [] : indexes.split(',').map(Number) };
  }

  claims(kind: number): StoredClaims {
    return { ...this.uniqueIndexes(kind), claims: this.#claimsOf(kind), revision: this.#revision };
  }

  /** Sets a kind's unique indexes and claims. */
  setClaims({ kind, wanted }: ClaimsOfKind, compactRevision: number): ClaimsOutcome {
    const { dropClaim, setClaim, changedAfter } = this.#statements;
    return this.transaction((): ClaimsOutcome => {
      const isBehind = wanted.revision < compactRevision || changedAfter.get(wanted.revision, kind) !== undefined;
      if (isBehind) {
        this.#setIndexes(kind, wanted.indexes);
        return { refused: 'behind' };
      }
      const { set, drop } = allSteps(claimDifference(this.#claimsOf(kind), unpackClaims(wanted.claims)));
      const { indexes, generation } = this.#indexesOf(kind);
      if (set.length + drop.length === 0 && indexes === wanted.indexes.join()) return { generation };
      for (const { index, value, key } of drop) dropClaim.run(kind, index, value, key);
      for (const { index, value, key } of set) setClaim.run(kind, index, value, key);
      return { generation: this.#setIndexes(kind, wanted.indexes) };
    });
  }

  #claimsOf(kind: number): StoredClaim[] {
    return this.#statements.claimsOfKind.all(kind);
  }

  /** Returns the new generation. */
  #setIndexes(kind: number, indexes: readonly number[]): number {
    const generation = this.#indexesOf(kind).generation + 1;
    this.#statements.setMeta.run(`indexes:${kind}`, `${generation} ${indexes.join()}`);
    this.#generations.delete(kind);
    return generation;
  }

  /** The indexes of a kind; for one that was never opened none, under generation 0. */
  #indexesOf(kind: number): { generation: number; indexes: string } {
    const row = this.#statements.getMeta.get(`indexes:${kind}`);
    const [generation = '0', indexes = ''] = row?.value.split(' ') ?? [];
    return { generation: Number(generation), indexes };
  }

  #generationOf(kind: number): number {
    const known = this.#generations.get(kind);
    if (known !== undefined) return known;
    const { generation } = this.#indexesOf(kind);
    this.#generations.set(kind, generation);
    return generation;
  }

  startHistory(revision: number): void {
    const { findAnyRow, setCounter, setMeta, setEpoch, dropLog } = this.#statements;
    this.transaction(() => {
      if (findAnyRow.get() !== undefined) throw new StoreError('refused', 'the database has objects already');
      dropLog.run(Number.MAX_SAFE_INTEGER);
      setCounter.run(revision);
      setMeta.run('compactRevision', revision);
      setEpoch.run();
    });
    this.#revision = revision;
  }

  transaction<Result>(body: () => Result): Result {
    this.#statements.begin.run();
    try {
      const result = body();
      this.#statements.commit.run();
      return result;
    } catch (error) {
      this.#rollback();
      throw error;
    }
  }

  /** Returns the written revision, or a conflict's code with nothing written. */
  #apply(operation: PackedOperation, revision: number, onLost: (holder: string, claim: Claim) => void): number {
    const { kind, key, unique } = operation;
    const row = this.#statements.findRow.get(kind, key);
    if (operation.generation >= 0 && operation.generation !== this.#generationOf(kind)) return conflictCodes.generation;
    const conflict = stateConflict(operation, row);
    if (conflict !== undefined) return conflict;
    if (unique) {
      const taken = this.#firstTaken(operation, unique.add);
      if (taken) {
        onLost(taken.holder, taken.claim);
        return conflictCodes.unique;
      }
      for (const [index, value] of unique.remove) {
        this.#statements.dropClaim.run(kind, index, storedClaimValue(value), key);
      }
      for (const [index, value] of unique.add) this.#statements.setClaim.run(kind, index, storedClaimValue(value), key);
    }
    this.#write(operation, revision, row?.id ?? 0);
    return revision;
  }

  /**
   * Positions of the operations that require a claim without a holder. No operation of a batch changes a claim that
   * another one requires.
   */
  #lackingRequired({ required }: PackedBatch): ReadonlySet<number> | undefined {
    const lacking = required?.filter(([{ kind, claim }]) => this.#holderOf(kind, claim) === undefined);
    return lacking && new Set(lacking.flatMap(([, positions]) => positions));
  }

  #firstTaken({ kind, key }: PackedOperation, claims: readonly Claim[]): { holder: string; claim: Claim } | undefined {
    for (const claim of claims) {
      const holder = this.#holderOf(kind, claim);
      if (holder !== undefined && holder !== key) return { holder, claim };
    }
    return undefined;
  }

  #holderOf(kind: number, [index, value]: Claim): string | undefined {
    const found = this.#statements.findClaim.get(kind, index, storedClaimValue(value));
    return found?.key;
  }

  #write({ op, kind, key, data }: PackedOperation, revision: number, id: number): void {
    const statements = this.#statements;
    switch (op) {
      case 'create':
        statements.insertRow.run(kind, key, revision, data);
        statements.logCreate.run(revision, 0, kind, key, data);
        return;
      case 'update':
        statements.logReplace.run(revision, 1, kind, key, data, id);
        statements.updateRow.run(revision, data, id);
        return;
      case 'delete':
        statements.logReplace.run(revision, 2, kind, key, data, id);
        statements.deleteRow.run(id);
        return;
      case undefined:
        throw new TypeError(`operation on ${key} is none of ${operationNames.join(', ')}`);
    }
  }

  #rollback(): void {
    try {
      this.#statements.rollback.run();
    } catch {
      // On a full disk or an I/O error SQLite has already rolled back, and reports here that there is no transaction.
    }
  }
}

interface ReadRows {
  readonly findRow: { readonly id: number; readonly revision: number };
  readonly findClaim: { readonly key: string };
  readonly claimsOfKind: StoredClaim;
  readonly getMeta: { readonly value: string };
}

type Statements = {
  readonly [Name in keyof typeof statementTexts]: SqlStatement<Name extends keyof ReadRows ? ReadRows[Name] : unknown>;
};

const statementTexts = {
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  setCounter: sql.setCounter,
  findRow: sql.findRow,
  insertRow: sql.insertRow,
  updateRow: sql.updateRow,
  deleteRow: sql.deleteRow,
  logCreate: sql.logCreate,
  logReplace: sql.logReplace,
  findClaim: sql.findClaim,
  setClaim: sql.setClaim,
  dropClaim: sql.dropClaim,
  claimsOfKind: sql.claimsOfKind,
  changedAfter: sql.changedAfter,
  getMeta: sql.getMeta,
  setMeta: sql.setMeta,
  setEpoch: sql.setEpoch,
  findAnyRow: sql.findAnyRow,
  dropLog: sql.deleteChanges,
};

function prepareStatements(database: SqlDatabase): Statements {
  const entries = Object.entries(statementTexts).map(([name, text]) => [name, database.prepare(text)] as const);
  return Object.fromEntries(entries) as Statements;
}

function stateConflict(
  { op, expect }: PackedOperation,
  row: { readonly revision: number } | undefined,
): number | undefined {
  if (op === 'create') return row ? conflictCodes.exists : undefined;
  if (!row) return conflictCodes.notFound;
  return row.revision === expect ? undefined : conflictCodes.revision;
}

function operationsOf({ keys, numbers, bytes, unique }: PackedBatch): PackedOperation[] {
  const claims = unique && new Map(unique);
  let offset = 0;
  return keys.map((key, position) => {
    const at = position * batchStride;
    const length = numbers[at + 3] ?? -1;
    const data = length < 0 ? null : new Uint8Array(bytes, offset, length);
    offset += Math.max(length, 0);
    const op = operationNames[numbers[at] ?? -1];
    const [, kind = 0, expect = NaN, , generation = -1] = numbers.subarray(at, at + batchStride);
    return {
      op,
      key,
      kind,
      expect,
      data,
      unique: claims?.get(position),
      generation,
    };
  });
}
