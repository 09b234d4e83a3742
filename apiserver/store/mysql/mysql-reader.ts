import type { Clock, Logger } from '@homeostat/controller-runtime/api';

import { storedClaims, storedIndexes } from './kind-claims.ts';
import { historyOf } from './found-history.ts';
import type { MysqlConnection, ResultRow } from './mysql-connection.ts';
import { isTransient, storeErrorFrom } from './mysql-errors.ts';
import { openSession } from './mysql-session.ts';
import * as sql from './mysql-statements.ts';
import { runSteps } from '../../turns/steps.ts';
import { type MysqlDatabase, nameOf } from './mysql-url.ts';
import { operationNames } from '../operation-codes.ts';
import { checkSchemaVersion } from '../schema-version.ts';
import { ConnectionLink } from '../server/connection-link.ts';
import type { KnownHistory } from '../server/known-history.ts';
import { type RowPage, pageLimits, type PageLimits, pageOf } from '../server/pages.ts';
import { SharedRead } from '../shared-read.ts';
import { type Change, CompactedError, type Row, type StoredClaims, type StoredIndexes } from '../store.ts';

/** The number of claims that are read without a pause, which takes about a millisecond. */
const claimsAtOnce = 2_000;

/** The idle timeout of a session that only reads, and so blocks nothing: the default of the servers, in seconds. */
const idleTimeoutS = 28_800;

export interface MysqlReaderParts {
  readonly database: MysqlDatabase;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly history: KnownHistory;
}

/** Reads the database in a separate session, so that a scan blocks no commit. */
export class MysqlReader {
  readonly #name: string;
  readonly #history: KnownHistory;
  readonly #link: ConnectionLink<MysqlConnection>;
  readonly #revision = new SharedRead(() => this.#readRevision());

  constructor({ database, clock, logger, history }: MysqlReaderParts) {
    this.#name = nameOf(database);
    this.#history = history;
    this.#link = new ConnectionLink(
      { connect: () => openSession({ database, clock, idleTimeoutS }), clock },
      {
        mayPass: (_, wasConnected) => wasConnected,
        onDown: (err) => logger.warn({ err, database: this.#name }, 'the database cannot be read; trying again'),
      },
    );
  }

  async open(): Promise<void> {
    await this.#link.open();
  }

  async close(): Promise<void> {
    await this.#link.close();
  }

  currentRevision(): Promise<number> {
    return this.#revision.get();
  }

  /** Checks the version of the tables. Rejects with StoreError `newer` if a newer program has upgraded them. */
  async checkSchema(): Promise<void> {
    const [[[version] = []] = []] = await this.#read(sql.getSchema);
    checkSchemaVersion({ migrations: sql.migrations, version: Number(version ?? 0), name: this.#name });
  }

  /**
   * Returns the id number of each kind that has objects, in the order of the objects' keys. One key of each kind is
   * enough to sort the kinds, because all keys of a kind have the same prefix.
   */
  async kinds(): Promise<number[]> {
    const [rows = []] = await this.#read(sql.listKinds);
    const kinds = rows.map(([kind, key]) => ({ kind: Number(kind), key: bytesIn(key) }));
    return kinds.sort((a, b) => Buffer.compare(a.key, b.key)).map(({ kind }) => kind);
  }

  async names(prefix: string): Promise<readonly string[]> {
    const [rows = []] = await this.#read(sql.listNames(prefix));
    return rows.map(([name]) => String(name));
  }

  async uniqueIndexes(kind: number): Promise<StoredIndexes> {
    const [rows = []] = await this.#read(sql.getIndexes(kind));
    return storedIndexes(rows[0]);
  }

  async claims(kind: number): Promise<StoredClaims> {
    const [rows = []] = await this.#read(sql.listKindClaims(kind));
    return runSteps(storedClaims(rows), rows.length > claimsAtOnce);
  }

  async scan(kind: number, after: string): Promise<RowPage<Row>> {
    const [found = []] = await this.#read(sql.scanKind(kind, after, pageLimits));
    const rows = found.map(([key, revision, data]) => {
      return { key: String(key), revision: Number(revision), data: bytesIn(data) };
    });
    return pageOf(rows, bytesOf(found), pageLimits);
  }

  /**
   * Returns the first changes after a revision, without gaps. Rejects with CompactedError if these changes are
   * compacted.
   */
  async changes(after: number, limits: PageLimits): Promise<RowPage<Change>> {
    const known = this.#history.last;
    // compactRevision is read last, so that it includes each compaction that ended before the changes were read.
    const statements = [sql.noteCounter, sql.listChanges(after, limits), sql.lookAt(known.revision)];
    const [, found = [], [row = []] = []] = await this.#read(...statements);
    const history = historyOf(row);
    this.#history.check(history, known);
    if (after < history.compactRevision) throw new CompactedError(history.compactRevision);
    const last = found.at(-1);
    if (last) this.#history.learn(Number(last[0]), String(last.at(-2)));
    return pageOf(found.map(changeOf), bytesOf(found), limits);
  }

  async #readRevision(): Promise<number> {
    const [[[revision] = []] = []] = await this.#read(sql.getCounter);
    return Number(revision);
  }

  /** Executes reads. Repeats them once after a transient error, for example when the connection is lost. */
  async #read(...statements: readonly string[]): Promise<readonly (readonly ResultRow[])[]> {
    for (let attempts = 1; ; attempts += 1) {
      const connection = await this.#link.get();
      try {
        return await connection.query(...statements);
      } catch (error) {
        if (attempts > 1 || !isTransient(error)) throw storeErrorFrom(error, this.#name);
      }
    }
  }
}

function bytesIn(cell: ResultRow[number] | undefined): Uint8Array {
  if (cell instanceof Uint8Array) return cell;
  throw new TypeError(`a binary column has a value of type ${typeof cell}`);
}

/** Returns the number of bytes of a page, which is in the last column of the last row. */
function bytesOf(rows: readonly ResultRow[]): number {
  return Number(rows.at(-1)?.at(-1) ?? 0);
}

function changeOf([revision, op, kind, key, data, previous, previousRevision]: ResultRow): Change {
  const name = operationNames[Number(op)];
  if (name === undefined) throw new TypeError(`the log has an unknown operation ${String(op)}`);
  // For a deletion, the column `data` has the last state of the object, or null when it equals the column `previous`.
  const bytes = bytesIn(data ?? previous);
  const change = { revision: Number(revision), op: name, key: String(key), kind: Number(kind), data: bytes };
  if (previous === null || previous === undefined) return change;
  return { ...change, previous: { revision: Number(previousRevision), data: bytesIn(previous) } };
}
