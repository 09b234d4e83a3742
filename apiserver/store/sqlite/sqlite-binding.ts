import { StoreError, type StoreErrorCode } from '../store-error.ts';

type SqlValue = string | number | Uint8Array | null;

/** A prepared statement. `Row` is the type of its rows, which only the author of its text knows. */
export interface SqlStatement<Row = unknown> {
  run(...values: SqlValue[]): { readonly changes: number | bigint };
  get(...values: SqlValue[]): Row | undefined;
  all(...values: SqlValue[]): Row[];
  iterate(...values: SqlValue[]): Iterable<Row>;
}

/** The common part of node:sqlite and better-sqlite3 that the store needs. All calls are synchronous. */
export interface SqlDatabase {
  exec(sql: string): unknown;
  prepare<Row>(sql: string): SqlStatement<Row>;
  /** Only better-sqlite3 has this method. `progress` returns the number of pages that are copied next. */
  backup?(path: string, options: { readonly progress: () => number }): Promise<unknown>;
  close(): unknown;
}

export interface SqliteBinding {
  readonly name: string;
  /** Undefined when this runtime lacks the binding; rejects when the binding is present but fails to load. */
  load(): Promise<((path: string) => SqlDatabase) | undefined>;
}

interface NodeSqlite {
  readonly DatabaseSync: new (path: string) => SqlDatabase;
}

/** Part of Node from 22.13 without a flag. */
export const nodeSqlite: SqliteBinding = {
  name: 'node:sqlite',
  load: async () => {
    const module = process.getBuiltinModule('node:sqlite') as NodeSqlite | undefined;
    return module && ((path) => new module.DatabaseSync(path));
  },
};

export const betterSqlite3: SqliteBinding = {
  name: 'better-sqlite3',
  load: async () => {
    const { default: Database } = await import('better-sqlite3');
    // Waiting for a lock would block the worker, and a holder keeps the file for its whole life.
    return (path) => new Database(path, { timeout: 0 });
  },
};

/** Returns the only row of a statement that always has one. Throws StoreError `corrupt` if there is none. */
export function rowOf<Row>(statement: SqlStatement<Row>, ...values: SqlValue[]): Row {
  const row = statement.get(...values);
  if (row === undefined) throw new StoreError('corrupt', `SQLite: the database lacks ${values.join() || 'a row'}`);
  return row;
}

/**
 * Opens a database with the first binding that this runtime has. All bindings were equally fast when measured, so the
 * one without a native build comes first.
 */
export async function openDatabase(
  path: string,
  bindings: readonly SqliteBinding[] = [nodeSqlite, betterSqlite3],
): Promise<SqlDatabase> {
  const failures: unknown[] = [];
  for (const binding of bindings) {
    const open = await binding.load().catch((error: unknown) => void failures.push(error));
    if (open) return open(path);
  }
  const names = bindings.map(({ name }) => name).join(' and ');
  throw new StoreError(
    'refused',
    `no SQLite in this runtime (looked for ${names}): use Node 22.13 or newer, or install better-sqlite3 12`,
    { cause: new AggregateError(failures) },
  );
}

// SQLite's primary result codes, https://www.sqlite.org/rescode.html
const codes: Readonly<Record<number, StoreErrorCode>> = {
  5: 'locked',
  6: 'locked',
  8: 'readOnly',
  10: 'io',
  11: 'corrupt',
  13: 'full',
  14: 'io',
  26: 'corrupt',
};

const codesByName: readonly (readonly [prefix: string, code: StoreErrorCode])[] = [
  ['SQLITE_BUSY', 'locked'],
  ['SQLITE_LOCKED', 'locked'],
  ['SQLITE_READONLY', 'readOnly'],
  ['SQLITE_IOERR', 'io'],
  ['SQLITE_CORRUPT', 'corrupt'],
  ['SQLITE_FULL', 'full'],
  ['SQLITE_CANTOPEN', 'io'],
  ['SQLITE_NOTADB', 'corrupt'],
];

/** The store's error for any error of a binding; errors that are not the medium's fault are `refused`. */
export function storeErrorFrom(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const { message } = error instanceof Error ? error : new Error(String(error));
  return new StoreError(codeOf(error), `SQLite: ${message}`, { cause: error });
}

function codeOf(error: unknown): StoreErrorCode {
  // node:sqlite has a numeric, extended `errcode` (the primary code is its low byte); better-sqlite3 has a name in
  // `code`.
  const errcode = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (typeof errcode === 'number') return codes[errcode & 0xff] ?? 'refused';
  return codesByName.find(([prefix]) => String(code).startsWith(prefix))?.[1] ?? 'refused';
}
