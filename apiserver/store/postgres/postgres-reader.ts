import type { Clock } from '@homeostat/controller-runtime/api';

import { type ClaimRow, storedClaims, storedIndexes } from './postgres-claims.ts';
import { PostgresConnection } from './postgres-connection.ts';
import { isServerError, storeErrorFrom } from './postgres-errors.ts';
import { changesOf, type LoggedRow, pageSize, rowsOf, type ScannedRow } from './postgres-page.ts';
import { checkSchemaRow } from './postgres-schema.ts';
import * as sql from './postgres-statements.ts';
import { ConnectionLink } from '../server/connection-link.ts';
import { type RowPage, pageLimits, type PageLimits, pageOf, readAhead, readChanges } from '../server/pages.ts';
import { runSteps } from '../../turns/steps.ts';
import { SharedRead } from '../shared-read.ts';
import { StoreError } from '../store-error.ts';
import { type Change, CompactedError, type Row, type StoredClaims, type StoredIndexes } from '../store.ts';

/** The number of claims that are read without a pause, which takes about a millisecond. */
const claimsAtOnce = 2_000;

/** Reads a database on a separate connection, so that a long response blocks no commit. */
export class PostgresReader {
  readonly #link: ConnectionLink<PostgresConnection>;
  readonly #revision: SharedRead<number>;

  constructor({ url, clock }: { readonly url: string; readonly clock: Clock }) {
    this.#link = new ConnectionLink({ clock, connect: () => PostgresConnection.open(url) });
    this.#revision = new SharedRead(() => this.#readRevision());
  }

  currentRevision(): Promise<number> {
    return this.#revision.get();
  }

  async kinds(): Promise<readonly number[]> {
    const rows = await this.#query<{ kind: number }>(sql.listKinds);
    return rows.map(({ kind }) => kind);
  }

  /** Yields the rows of a kind in pages, in the order of their keys. */
  scan(kind: number): AsyncGenerator<readonly Row[], void, undefined> {
    return readAhead((after) => this.#scanPage(kind, after));
  }

  changes(after: number, limit: number): Promise<readonly Change[]> {
    return readChanges((from, limits) => this.#changesPage(from, limits), after, limit);
  }

  /** Checks the version of the tables. Rejects with StoreError `newer` if a newer program has upgraded them. */
  async checkSchema(): Promise<void> {
    checkSchemaRow(await this.#query<{ version: number }>(sql.getSchema), 'the database');
  }

  async names(prefix: string): Promise<readonly string[]> {
    const rows = await this.#query<{ name: string }>(sql.listNames, [prefix]);
    return rows.map(({ name }) => name);
  }

  async uniqueIndexes(kind: number): Promise<StoredIndexes> {
    const [row] = await this.#query<Pick<ClaimRow, 'generation' | 'indexes'>>(sql.getIndexes, [kind]);
    return storedIndexes(row);
  }

  async claims(kind: number): Promise<StoredClaims> {
    const rows = await this.#query<ClaimRow>(sql.listKindClaims, [kind]);
    return runSteps(storedClaims(rows), rows.length > claimsAtOnce);
  }

  /** Uses a new connection for later requests. */
  reset(): void {
    this.#link.reset();
  }

  async close(): Promise<void> {
    await this.#link.close();
  }

  async #scanPage(kind: number, after: string): Promise<RowPage<Row>> {
    const { maxRows, maxBytes } = pageLimits;
    const rows = await this.#query<ScannedRow>(sql.scanKind, [kind, after, maxRows, maxBytes]);
    return pageOf(rowsOf(rows), pageSize(rows), pageLimits);
  }

  async #changesPage(after: number, limits: PageLimits): Promise<RowPage<Change>> {
    const found = await this.#query<{ compacted: number } & (LoggedRow | { revision: null })>(sql.listChanges, [
      after,
      limits.maxRows,
      limits.maxBytes,
    ]);
    const compactRevision = found.at(0)?.compacted ?? 0;
    if (after < compactRevision) throw new CompactedError(compactRevision);
    const rows = found.filter((row) => row.revision !== null);
    return pageOf(changesOf(rows), pageSize(rows), limits);
  }

  async #readRevision(): Promise<number> {
    const [row] = await this.#query<{ revision: number }>(sql.getCounter);
    return row?.revision ?? 0;
  }

  /** Executes a read. If the connection is lost, repeats the read once, on another connection. */
  async #query<Result extends object>(
    statement: sql.Statement | string,
    values?: readonly unknown[],
  ): Promise<Result[]> {
    for (let attempt = 1; ; attempt += 1) {
      const connection = await this.#link.get();
      try {
        return await connection.query<Result>(statement, values);
      } catch (error) {
        if (isServerError(error) || error instanceof StoreError || attempt === 2) {
          throw storeErrorFrom(error, 'the database could not be read');
        }
        this.#link.discard(connection);
      }
    }
  }
}
