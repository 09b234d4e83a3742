import { type BatchState, claimId, needsOf, type PlannedWrite, planBatch } from './batch-plan.ts';
import { claimDifference } from '../claim-difference.ts';
import type { MysqlConnection, ResultRow } from './mysql-connection.ts';
import * as sql from './mysql-statements.ts';
import type { MysqlWriter } from './mysql-writer.ts';
import { packRows } from './statement-packing.ts';
import type { Operation, Outcome, KindClaims } from '../store.ts';

/** Of one INSERT into the log. Each number of rows is a prepared statement of its own, of which a session keeps 256. */
const chunk = {
  maxRows: 128,
  maxBytes: 2 * 1024 * 1024,
  sizeOf: ({ operation: { data, key } }: PlannedWrite): number => (data?.byteLength ?? 0) + key.length,
};

const opCodes = { create: 0, update: 1, delete: 2 } as const;

/** What is written, statement by statement. */
export class MysqlCommitter {
  readonly #writer: MysqlWriter;
  readonly #uuid: () => string;

  constructor(writer: MysqlWriter, uuid: () => string) {
    this.#writer = writer;
    this.#uuid = uuid;
  }

  /** Three round trips: what the batch needs to know, the log with all its bytes, and what follows from the log. */
  async commit(batch: readonly Operation[]): Promise<readonly Outcome[]> {
    const needs = needsOf(batch);
    if (batch.length === 0) return [];
    const rowQueries = sql.findRows(needs);
    const reads = [...rowQueries, ...sql.findClaims(needs.claims)];
    return this.#writer.exclusively(async (connection) => {
      const answers = await this.#writer.begin(connection, reads);
      const state = stateOf(
        this.#writer.revision,
        answers.slice(0, rowQueries.length),
        answers.slice(rowQueries.length),
      );
      const plan = planBatch(batch, state);
      if (plan.writes.length === 0) {
        await connection.query(sql.rollback);
        return plan.outcomes;
      }
      const id = this.#uuid().replaceAll('-', '').toUpperCase();
      await writeLog(connection, plan.writes, Buffer.from(id, 'hex'));
      const statements = [...sql.applyLog(plan.writes), ...sql.changeClaims(plan)];
      await this.#writer.finish(connection, { statements, revision: plan.revision, batch: id });
      return plan.outcomes;
    });
  }

  async replaceClaims(kind: number, claims: KindClaims['claims']): Promise<number> {
    return this.#writer.transaction(async (connection) => {
      const [rows = []] = await connection.query(sql.claimsOfKind(kind));
      const stored = rows.map(([index, value, key]) => ({
        index: Number(index),
        value: String(value),
        key: String(key),
      }));
      const { set, drop } = claimDifference(stored, claims);
      const taken = set.map((row) => ({ ...row, kind }));
      // What goes to another holder is dropped first; to drop what is not there is no error.
      const dropped = [...drop.map((row) => ({ ...row, kind })), ...taken];
      await connection.query(...sql.changeClaims({ dropped, taken }));
      return set.length + drop.length;
    });
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
    return this.#writer.transaction(async (connection, revision) => {
      const [[[meta] = []] = [], [[bound] = []] = []] = await connection.query(
        sql.getMeta('compactRevision'),
        sql.compactBound(upTo, maxRows),
      );
      const present = Math.min(upTo, revision);
      if (present <= Number(String(meta))) return 0;
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

function stateOf(
  revision: number,
  rows: readonly (readonly ResultRow[])[],
  claims: readonly (readonly ResultRow[])[],
): BatchState {
  const holders = claims.flat().map(([kind, index, value, key]): [string, string] => {
    return [claimId({ kind: Number(kind), index: Number(index), value: String(value) }), String(key)];
  });
  return {
    revision,
    revisions: new Map(rows.flat().map(([key, found]) => [String(key), Number(found)])),
    holders: new Map(holders),
  };
}
