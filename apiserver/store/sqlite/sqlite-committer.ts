import { conflictCodes, operationCodes, operationNames } from '../operation-codes.ts';
import { allSteps } from '../../turns/steps.ts';
import { claimDifference } from '../claim-difference.ts';
import { storedClaimValue } from '../claim-value.ts';
import { batchStride, type PackedBatch, type PackedOutcomes, type UniqueConflict } from '../packed-batch.ts';
import { unpackItems } from '../packed-items.ts';
import type { HashSecret } from '../../base/key-hash.ts';
import { type ObjectKey, PresentObjects } from './present-objects.ts';
import { rowOf } from './sqlite-binding.ts';
import type { SqlDatabase, SqlStatement } from './sqlite-binding.ts';
import type { ClaimsOfKind } from './sqlite-protocol.ts';
import * as tables from './sqlite-tables.ts';
import * as sql from './sqlite-statements.ts';
import type { Claim, ClaimsOutcome, Operation, StoredClaim, StoredClaims, StoredIndexes } from '../store.ts';
import { StoreError } from '../store-error.ts';

interface PackedOperation {
  readonly op: (typeof operationNames)[number] | undefined;
  readonly object: ObjectKey;
  readonly expect: number;
  readonly data: Uint8Array | null;
  readonly unique: Operation['unique'];
  /** The generation that the kind must have; -1 when it is not checked. */
  readonly generation: number;
}

/**
 * The minimum number of changes since the last copy of {@link PresentObjects}, before a new copy is written. A start
 * reads fewer changes in a few milliseconds, so it needs no newer copy.
 */
const fewestChanges = 10_000;

/** Writes to an open database. Once the database is open, all explicit transactions run here, one after the other. */
export class SqliteCommitter {
  readonly #statements: Statements;
  /** For each kind, by its number: the generation of its unique indexes, as this instance has read it. */
  readonly #generations = new Map<number, number>();
  readonly #objects: PresentObjects;
  /** The changes that the current transaction has made in {@link PresentObjects}, in order. */
  #moves: { readonly object: ObjectKey; readonly from: number; readonly to: number }[] = [];
  #revision: number;

  readonly #copyAfter: number;

  /**
   * `copyAfter` is the minimum number of changes since the last copy of the {@link PresentObjects}, before
   * {@link copyObjects} writes a new copy.
   */
  constructor(database: SqlDatabase, secret: HashSecret, copyAfter: number = fewestChanges) {
    this.#copyAfter = copyAfter;
    this.#statements = prepareStatements(database);
    this.#objects = new PresentObjects(database, secret);
    const { revision } = rowOf(database.prepare<{ readonly revision: number }>(sql.lastRevision));
    // If all changes are compacted, the last change may be a deletion, whose row no longer exists. Then compactRevision
    // is the last revision.
    const compacted = rowOf(database.prepare<{ readonly value: number }>(sql.getMeta), 'compactRevision');
    this.#revision = Math.max(revision, compacted.value);
  }

  /** The revision of the last commit, which is durable. */
  get revision(): number {
    return this.#revision;
  }

  /**
   * Writes a batch in one transaction; each operation sees the effects of those before it. If it throws, nothing is
   * written.
   */
  commit(batch: PackedBatch): PackedOutcomes {
    const codes = new Float64Array(batch.keys.length);
    const lost: UniqueConflict[] = [];
    const before = this.#revision;
    const revision = this.transaction(() => {
      let next = this.#revision;
      const refused = this.#lackingRequired(batch);
      for (const [position, operation] of this.#operationsOf(batch).entries()) {
        if (refused?.has(position) === true) {
          codes[position] = conflictCodes.requires;
          continue;
        }
        const code = this.#apply(operation, next + 1, (holder, claim) => lost.push({ position, holder, claim }));
        codes[position] = code;
        if (code > 0) next = code;
      }
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

  /**
   * Sets the unique indexes and the claims of a kind. If the kind has, or may have, changes after `wanted.revision`,
   * sets only the indexes and refuses the claims as `behind`.
   */
  setClaims({ kind, wanted }: ClaimsOfKind, compactRevision: number): ClaimsOutcome {
    const { dropClaim, setClaim, changedAfter } = this.#statements;
    return this.transaction((): ClaimsOutcome => {
      const isBehind = wanted.revision < compactRevision || changedAfter.get(wanted.revision, kind) !== undefined;
      if (isBehind) {
        this.#setIndexes(kind, wanted.indexes);
        return { refused: 'behind' };
      }
      const { set, drop } = allSteps(claimDifference(this.#claimsOf(kind), allSteps(unpackItems(wanted.claims))));
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

  /** Stores the unique indexes of a kind, and returns their new generation. */
  #setIndexes(kind: number, indexes: readonly number[]): number {
    const generation = this.#indexesOf(kind).generation + 1;
    this.#statements.setMeta.run(`indexes:${kind}`, `${generation} ${indexes.join()}`);
    this.#generations.delete(kind);
    return generation;
  }

  /**
   * Returns the unique indexes of a kind, and their generation. A kind whose indexes were never stored has none, and
   * the generation 0.
   */
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
    const { setMeta, setEpoch, dropHistory, dropAllKept } = this.#statements;
    this.transaction(() => {
      if (this.#objects.size > 0) throw new StoreError('refused', 'the database has objects already');
      dropHistory.run();
      dropAllKept.run();
      this.#objects.copy(revision);
      setMeta.run('compactRevision', revision);
      setEpoch.run();
    });
    this.#revision = revision;
  }

  /**
   * The revision at which {@link PresentObjects} was last copied from memory into the database; 0 when the database has
   * no copy.
   */
  get copied(): number {
    return this.#objects.copied;
  }

  /**
   * Copies {@link PresentObjects} from memory into the database. Does nothing when a start from the existing copy would
   * still be fast, or when the changes since that copy are fewer than `share` of the objects. So the copies cost only a
   * few bytes for each change.
   */
  copyObjects(share: number): void {
    const changes = this.#revision - this.#objects.copied;
    if (changes < this.#copyAfter || changes < this.#objects.size * share) return;
    this.transaction(() => this.#objects.copy(this.#revision));
  }

  transaction<Result>(body: () => Result): Result {
    this.#statements.begin.run();
    try {
      const result = body();
      this.#statements.commit.run();
      this.#moves = [];
      return result;
    } catch (error) {
      this.#rollback();
      throw error;
    }
  }

  /** Returns the revisions of the objects of a kind in ascending order; without a kind, those of all objects. */
  revisions(kind?: number): Float64Array<ArrayBuffer> {
    return this.#objects.revisions(kind);
  }

  /**
   * Executes an operation. Returns its revision; for a conflict, writes nothing and returns the code of the conflict.
   */
  #apply(operation: PackedOperation, revision: number, onLost: (holder: string, claim: Claim) => void): number {
    const { object, unique } = operation;
    const { kind, key } = object;
    const present = this.#objects.revisionOf(object);
    if (operation.generation >= 0 && operation.generation !== this.#generationOf(kind)) return conflictCodes.generation;
    const conflict = stateConflict(operation, present);
    if (conflict !== undefined) return conflict;
    if (unique) {
      const taken = this.#firstTaken(object, unique.add);
      if (taken) {
        onLost(taken.holder, taken.claim);
        return conflictCodes.unique;
      }
      for (const [index, value] of unique.remove) {
        this.#statements.dropClaim.run(kind, index, storedClaimValue(value), key);
      }
      for (const [index, value] of unique.add) this.#statements.setClaim.run(kind, index, storedClaimValue(value), key);
    }
    this.#write(operation, present, revision);
    return revision;
  }

  /**
   * Returns the positions of those operations that require a claim which does not exist in the database. One check for
   * a batch is enough, because no operation of a batch changes a claim that another operation of the batch requires.
   */
  #lackingRequired({ required }: PackedBatch): ReadonlySet<number> | undefined {
    const lacking = required?.filter(([{ kind, claim }]) => this.#holderOf(kind, claim) === undefined);
    return lacking && new Set(lacking.flatMap(([, positions]) => positions));
  }

  #operationsOf({ keys, numbers, bytes, unique }: PackedBatch): PackedOperation[] {
    const claims = unique && new Map(unique);
    let offset = 0;
    return keys.map((key, position) => {
      const at = position * batchStride;
      const length = numbers[at + 3] ?? -1;
      const data = length < 0 ? null : bytes.subarray(offset, offset + length);
      offset += Math.max(length, 0);
      return {
        op: operationNames[numbers[at] ?? -1],
        object: this.#objects.keyOf(numbers[at + 1] ?? 0, key),
        expect: numbers[at + 2] ?? NaN,
        data,
        unique: claims?.get(position),
        generation: numbers[at + 4] ?? -1,
      };
    });
  }

  #firstTaken({ kind, key }: ObjectKey, claims: readonly Claim[]): { holder: string; claim: Claim } | undefined {
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

  #write({ op, object, data }: PackedOperation, present: number, revision: number): void {
    const { kind, key } = object;
    if (op === undefined) throw new TypeError(`operation on ${key} is none of ${operationNames.join(', ')}`);
    this.#statements.addChange.run(revision, operationCodes[op], kind, present === 0 ? null : present, key, data);
    const move = { object, from: present, to: op === 'delete' ? 0 : revision };
    this.#moves.push(move);
    this.#objects.move(object, move.from, move.to);
  }

  #rollback(): void {
    for (const { object, from, to } of this.#moves.toReversed()) this.#objects.move(object, to, from);
    this.#moves = [];
    try {
      this.#statements.rollback.run();
    } catch {
      // This failure is ignored: after an error such as a full disk, SQLite has already rolled back, so there is no
      // transaction that ROLLBACK could end.
    }
  }
}

interface ReadRows {
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
  addChange: sql.addChange,
  findClaim: sql.findClaim,
  setClaim: sql.setClaim,
  dropClaim: sql.dropClaim,
  claimsOfKind: sql.claimsOfKind,
  changedAfter: sql.changedAfter,
  getMeta: sql.getMeta,
  setMeta: sql.setMeta,
  setEpoch: tables.setEpoch,
  dropHistory: sql.dropHistory,
  dropAllKept: sql.dropAllKept,
};

function prepareStatements(database: SqlDatabase): Statements {
  const entries = Object.entries(statementTexts).map(([name, text]) => [name, database.prepare(text)] as const);
  return Object.fromEntries(entries) as Statements;
}

/**
 * Returns the code of the conflict between an operation and the current state; undefined when there is none. `present`
 * is the object's revision, or 0 when there is no object.
 */
function stateConflict({ op, expect }: PackedOperation, present: number): number | undefined {
  if (op === 'create') return present > 0 ? conflictCodes.exists : undefined;
  if (present === 0) return conflictCodes.notFound;
  return present === expect ? undefined : conflictCodes.revision;
}
