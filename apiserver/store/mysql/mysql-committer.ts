import {
  type BatchNeeds,
  type BatchState,
  claimId,
  needsOf,
  type PlannedWrite,
  planBatch,
} from '../server/batch-plan.ts';
import { runInTurns } from '../../turns/steps.ts';
import { claimDifference, claimPartsOf } from '../claim-difference.ts';
import { storedClaimOf, storedClaimSteps } from './kind-claims.ts';
import type { MysqlConnection, ResultRow } from './mysql-connection.ts';
import * as sql from './mysql-statements.ts';
import type { MysqlWriter } from './mysql-writer.ts';
import { packRows } from './statement-packing.ts';
import type { ClaimsOutcome, Committed, KindClaims, OpenedStore, Operation } from '../store.ts';
import { StoreError } from '../store-error.ts';

/**
 * The limits of one INSERT into the log. INSERTs with different numbers of rows are different prepared statements. With
 * at most 128 rows, these INSERTs take at most half of the 256 prepared statements that a session keeps.
 */
const chunk = {
  maxRows: 128,
  maxBytes: 2 * 1024 * 1024,
  sizeOf: ({ operation: { data, key } }: PlannedWrite): number => (data?.byteLength ?? 0) + key.length,
};

/**
 * The maximum number of claims whose statements are sent together. To create the text of the statements for this many
 * claims takes some milliseconds.
 */
const claimsChangedAtOnce = 1_000;

const opCodes = { create: 0, update: 1, delete: 2 } as const;

/**
 * Commits batches of operations, stores the claims of kinds, and assigns numbers to names, such as those of kinds and
 * indexes. Compacts the change log, and starts a new history.
 */
export class MysqlCommitter {
  readonly #writer: MysqlWriter;
  readonly #uuid: () => string;

  constructor(writer: MysqlWriter, uuid: () => string) {
    this.#writer = writer;
    this.#uuid = uuid;
  }

  /**
   * Commits a batch in three round trips: the first reads the state on which the batch depends, the second writes the
   * log with all bytes, and the third makes the changes that are computed from the log. The log of a large batch needs
   * several round trips.
   */
  async commit(batch: readonly Operation[]): Promise<Committed> {
    const needs = needsOf(batch);
    const reads = readsOf(needs);
    return this.#writer.exclusively(async (connection) => {
      const { found, answers } = await this.#writer.begin(connection, reads.all);
      const before = found.revision;
      const plan = planBatch(batch, stateOf(before, reads, answers));
      if (plan.writes.length === 0) {
        await connection.query(sql.rollback);
        return { before, outcomes: plan.outcomes };
      }
      const id = this.#uuid().replaceAll('-', '').toUpperCase();
      await writeLog(connection, plan.writes, Buffer.from(id, 'hex'));
      const statements = [...sql.applyLog(plan.writes), ...sql.changeClaims(plan)];
      await this.#writer.finish(connection, { statements, revision: plan.revision, batch: id });
      return { before, outcomes: plan.outcomes };
    });
  }

  /** Sets the unique indexes and the claims of a kind, unless they are already the wanted ones. */
  async setClaims(kind: number, wanted: KindClaims): Promise<ClaimsOutcome> {
    return this.#writer.transaction(async (connection, { compactRevision }): Promise<ClaimsOutcome> => {
      const [changed = [], [[known, knownIndexes] = []] = []] = await connection.query(
        sql.changedAfter(kind, wanted.revision),
        sql.getIndexes(kind),
      );
      const generation = Number(known ?? 0);
      const indexes = wanted.indexes.join();
      const next = sql.setIndexes(kind, generation + 1, indexes);
      if (changed.length > 0 || wanted.revision < compactRevision) {
        await connection.query(next);
        return { refused: 'behind' };
      }
      const [rows = []] = await connection.query(sql.claimsOfKind(kind));
      const stored = await runInTurns(storedClaimSteps(rows));
      const { set, drop } = await runInTurns(claimDifference(stored, wanted.claims));
      if (set.length + drop.length === 0 && String(knownIndexes ?? '') === indexes) return { generation };
      for (const part of claimPartsOf(drop, claimsChangedAtOnce)) {
        await connection.query(...sql.changeClaims({ dropped: part.map((row) => ({ ...row, kind })), taken: [] }));
      }
      for (const part of claimPartsOf(set, claimsChangedAtOnce)) {
        const taken = part.map((row) => ({ ...row, kind }));
        // When a claim moves to another object, its old row must be deleted before the new row is inserted. The
        // statements delete the rows of new claims, too: a DELETE that finds no row is not an error.
        await connection.query(...sql.changeClaims({ dropped: taken, taken }));
      }
      await connection.query(next);
      return { generation: generation + 1 };
    });
  }

  async startHistory(revision: number): Promise<OpenedStore> {
    const epoch = this.#uuid();
    this.#writer.history.expect(epoch);
    const opened = { revision, compactRevision: revision, epoch };
    await this.#writer.transaction(async (connection, found) => {
      // An earlier attempt has succeeded, but its response was lost.
      if (found.epoch === epoch) return;
      const [objects = []] = await connection.query(sql.findAnyRow);
      if (objects.length > 0) throw new StoreError('refused', 'the database has objects already');
      await connection.query(
        sql.dropLog,
        sql.setCounter(revision),
        sql.setMeta('compactRevision', String(revision)),
        sql.setMeta('epoch', epoch),
      );
    });
    this.#writer.history.start(opened);
    return opened;
  }

  async numberOf(name: string): Promise<number> {
    return this.#writer.transaction(async (connection) => {
      const [[[found] = []] = []] = await connection.query(sql.getNumber(name));
      if (found !== undefined) return Number(found);
      const [, [[added] = []] = []] = await connection.query(sql.addNumber(name), sql.getNumber(name));
      return Number(added);
    });
  }

  async compact(upTo: number, maxRows: number): Promise<number> {
    if (maxRows < 1) return 0;
    return this.#writer.transaction(async (connection, found) => {
      const present = Math.min(upTo, found.revision);
      if (present <= found.compactRevision) return 0;
      const [[[bound] = []] = []] = await connection.query(sql.compactBound(present, maxRows));
      const compactRevision = bound === undefined ? present : Number(bound);
      const [, [[dropped] = []] = []] = await connection.query(
        ...sql.deleteChanges(compactRevision),
        sql.setMeta('compactRevision', String(compactRevision)),
      );
      return Number(dropped);
    });
  }
}

async function writeLog(connection: MysqlConnection, writes: readonly PlannedWrite[], id: Buffer): Promise<void> {
  for (const rows of packRows(writes, chunk)) {
    const values = rows.flatMap(({ operation: { op, kind, key, data }, revision }) => [
      revision,
      opCodes[op],
      kind,
      Buffer.from(key, 'utf8'),
      id,
      data?.byteLength ?? 0,
      data ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : null,
    ]);
    await connection.execute(sql.insertLog(rows.length), values);
  }
}

/**
 * The statements that read the state on which a batch depends, and the positions at which the results of claims and
 * generations start.
 */
interface BatchReads {
  readonly all: readonly string[];
  readonly claimsAt: number;
  readonly generationsAt: number;
}

function readsOf(needs: BatchNeeds): BatchReads {
  const rows = sql.findRows(needs);
  const claims = sql.findClaims(needs.claims);
  const all = [...rows, ...claims, ...sql.findGenerations(needs.generations)];
  return { all, claimsAt: rows.length, generationsAt: rows.length + claims.length };
}

function stateOf(
  revision: number,
  { claimsAt, generationsAt }: BatchReads,
  answers: readonly (readonly ResultRow[])[],
): BatchState {
  const rows = answers.slice(0, claimsAt).flat();
  const claims = answers.slice(claimsAt, generationsAt).flat();
  const generations = answers.slice(generationsAt).flat();
  return {
    revision,
    revisions: new Map(rows.map(([key, found]) => [String(key), Number(found)])),
    holders: new Map(claims.map(([kind, ...claim]) => holderOf(Number(kind), claim))),
    generations: new Map(generations.map(([kind, generation]) => [Number(kind), Number(generation)])),
  };
}

function holderOf(kind: number, claim: ResultRow): [id: string, key: string] {
  const { key, ...row } = storedClaimOf(claim);
  return [claimId({ ...row, kind }), key];
}
