import { storedClaimValue } from '../claim-value.ts';
import type { SqlDatabase, SqlStatement } from './sqlite-binding.ts';
import {
  batchStride,
  type ClaimsOfKind,
  conflictCodes,
  operationNames,
  type PackedBatch,
  type PackedOutcomes,
  type UniqueConflict,
} from './sqlite-protocol.ts';
import * as sql from './sqlite-statements.ts';
import type { Claim, Operation } from '../store.ts';

interface PackedOperation {
  readonly op: (typeof operationNames)[number] | undefined;
  readonly key: string;
  readonly kind: number;
  readonly expect: number;
  readonly data: Uint8Array | null;
  readonly unique: Operation['unique'];
}

/** The writing side of a database: all transactions go through here, one after the other. */
export class SqliteCommitter {
  readonly #statements: Statements;
  #revision: number;

  constructor(database: SqlDatabase) {
    this.#statements = prepareStatements(database);
    this.#revision = (database.prepare(sql.getCounter).get() as { revision: number }).revision;
  }

  /** Of the last commit; durable. */
  get revision(): number {
    return this.#revision;
  }

  /** All of a batch, or nothing and a throw; operations in their order, so that each sees those before it. */
  commit(batch: PackedBatch): PackedOutcomes {
    const codes = new Float64Array(batch.keys.length);
    const lost: UniqueConflict[] = [];
    const revision = this.transaction(() => {
      let next = this.#revision;
      for (const [position, operation] of operationsOf(batch).entries()) {
        const code = this.#apply(operation, next + 1, (holder, claim) => lost.push({ position, holder, claim }));
        codes[position] = code;
        if (code > 0) next = code;
      }
      if (next > this.#revision) this.#statements.setCounter.run(next);
      return next;
    });
    this.#revision = revision;
    return { codes, unique: lost };
  }

  /** Answers how many claims differed. */
  replaceClaims({ kind, claims }: ClaimsOfKind): number {
    return this.transaction(() => {
      const rows = this.#statements.claimsOfKind.all(kind) as { idx: number; value: string; key: string }[];
      const stale = new Map(rows.map((row) => [`${row.idx} ${row.value}`, row]));
      let changed = 0;
      for (const { claim, key } of claims) {
        const value = storedClaimValue(claim[1]);
        const id = `${claim[0]} ${value}`;
        if (stale.get(id)?.key !== key) {
          this.#statements.setClaim.run(kind, claim[0], value, key);
          changed += 1;
        }
        stale.delete(id);
      }
      for (const { idx, value, key } of stale.values()) this.#statements.dropClaim.run(kind, idx, value, key);
      return changed + stale.size;
    });
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

  /** The revision written, or a conflict's code with nothing written. */
  #apply(operation: PackedOperation, revision: number, onLost: (holder: string, claim: Claim) => void): number {
    const { kind, key, unique } = operation;
    const row = this.#statements.findRow.get(kind, key) as { id: number; revision: number } | undefined;
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

  #firstTaken({ kind, key }: PackedOperation, claims: readonly Claim[]): { holder: string; claim: Claim } | undefined {
    for (const claim of claims) {
      const found = this.#statements.findClaim.get(kind, claim[0], storedClaimValue(claim[1])) as
        { key: string } | undefined;
      if (found && found.key !== key) return { holder: found.key, claim };
    }
    return undefined;
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
      // On a full disk or an I/O error SQLite has rolled back by itself, and says now that there is no transaction.
    }
  }
}

type Statements = Readonly<Record<keyof typeof statementTexts, SqlStatement>>;

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
    return { op, key, kind: numbers[at + 1] ?? 0, expect: numbers[at + 2] ?? NaN, data, unique: claims?.get(position) };
  });
}
