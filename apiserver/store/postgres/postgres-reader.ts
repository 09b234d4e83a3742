import type { Clock } from '@homeostat/controller-runtime/api';

import { type ClaimRow, storedClaims } from './postgres-claims.ts';
import { PostgresConnection } from './postgres-connection.ts';
import { isServerError, storeErrorFrom } from './postgres-errors.ts';
import { PostgresLink } from './postgres-link.ts';
import { changesOf, type LoggedRow, pageSize, rowsOf, type ScannedRow } from './postgres-page.ts';
import { checkSchemaRow } from './postgres-schema.ts';
import * as sql from './postgres-statements.ts';
import { runSteps } from '../../turns/steps.ts';
import { SharedRead } from '../shared-read.ts';
import { StoreError } from '../store-error.ts';
import { type Change, CompactedError, type Row, type StoredClaims } from '../store.ts';

/** A page ends at whichever comes first. */
const maxPageRows = 1_000;
const maxPageBytes = 1024 * 1024;

/** Claims that are read at once: about a millisecond. */
const claimsAtOnce = 2_000;

/** The reading side of a database, on a connection of its own: a long answer holds up no commit. */
export class PostgresReader {
  readonly #link: PostgresLink;
  readonly #revision: SharedRead<number>;

  constructor({ url, clock }: { readonly url: string; readonly clock: Clock }) {
    this.#link = new PostgresLink({ clock, connect: () => PostgresConnection.open(url), mayPass: () => true });
    this.#revision = new SharedRead(() => this.#readRevision());
  }

  currentRevision(): Promise<number> {
    return this.#revision.get();
  }

  async kinds(): Promise<readonly number[]> {
    const rows = await this.#query<{ kind: number }>(sql.listKinds);
    return rows.map(({ kind }) => kind);
  }

  /** Rows of a kind, by key, in pages. The next page is read while one is used. */
  async *scan(kind: number): AsyncGenerator<readonly Row[], void, undefined> {
    let next = this.#scanPage(kind, '');
    for (;;) {
      const page = await next;
      const last = page.at(-1);
      if (last === undefined) return;
      const isLast = page.length < maxPageRows && pageSize(page) < maxPageBytes;
      if (!isLast) {
        next = this.#scanPage(kind, last.key);
        // Its failure shows when it is awaited; a caller that stops before never asks.
        next.catch(() => undefined);
      }
      yield rowsOf(page);
      if (isLast) return;
    }
  }

  async changes(after: number, limit: number): Promise<readonly Change[]> {
    const found: Change[] = [];
    while (found.length < limit) {
      const from = found.at(-1)?.revision ?? after;
      const page = await this.#changesPage(from, Math.min(limit - found.length, maxPageRows));
      if (page.length === 0) break;
      found.push(...changesOf(page));
    }
    return found;
  }

  /** Rejects with StoreError `newer` for tables of a newer program. */
  async checkSchema(): Promise<void> {
    checkSchemaRow(await this.#query<{ version: number }>(sql.getSchema), 'the database');
  }

  async names(prefix: string): Promise<readonly string[]> {
    const rows = await this.#query<{ name: string }>(sql.listNames, [prefix]);
    return rows.map(({ name }) => name);
  }

  async claims(kind: number): Promise<StoredClaims> {
    const rows = await this.#query<ClaimRow>(sql.listKindClaims, [kind]);
    return runSteps(storedClaims(rows), rows.length > claimsAtOnce);
  }

  /** Takes a new connection for what is asked from now on. */
  reset(): void {
    this.#link.reset();
  }

  async close(): Promise<void> {
    await this.#link.close();
  }

  #scanPage(kind: number, after: string): Promise<ScannedRow[]> {
    return this.#query<ScannedRow>(sql.scanKind, [kind, after, maxPageRows, maxPageBytes]);
  }

  async #changesPage(after: number, maxRows: number): Promise<readonly LoggedRow[]> {
    const rows = await this.#query<{ compacted: number } & (LoggedRow | { revision: null })>(sql.listChanges, [
      after,
      maxRows,
      maxPageBytes,
    ]);
    const compactRevision = rows.at(0)?.compacted ?? 0;
    if (after < compactRevision) throw new CompactedError(compactRevision);
    return rows.filter((row) => row.revision !== null);
  }

  async #readRevision(): Promise<number> {
    const [row] = await this.#query<{ revision: number }>(sql.getCounter);
    return row?.revision ?? 0;
  }

  /** A read may be sent again: once more, on another connection. */
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
