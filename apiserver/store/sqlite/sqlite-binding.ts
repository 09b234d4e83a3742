import { StoreError, type StoreErrorCode } from '../store-error.ts';

type SqlValue = string | number | Uint8Array | null;

/** A prepared statement. `Row` is the type of its rows, which the text of the statement determines. */
export interface SqlStatement<Row = unknown> {
  run(...values: SqlValue[]): { readonly changes: number | bigint };
  get(...values: SqlValue[]): Row | undefined;
  all(...values: SqlValue[]): Row[];
  iterate(...values: SqlValue[]): Iterable<Row>;
}

/** The methods that the store needs: the synchronous ones of node:sqlite and better-sqlite3, and `backup`. */
export interface SqlDatabase {
  exec(sql: string): unknown;
  prepare<Row>(sql: string): SqlStatement<Row>;
  /**
   * Copies the database asynchronously. Only better-sqlite3 has this method. `progress` returns the number of pages
   * that the next step copies.
   */
  backup?(path: string, options: { readonly progress: () => number }): Promise<unknown>;
  close(): unknown;
}

export interface SqliteBinding {
  readonly name: string;
  /**
   * Loads the binding. Resolves with undefined when Node does not have it; rejects when its package is not installed or
   * cannot be loaded.
   */
  load(): Promise<((path: string) => SqlDatabase) | undefined>;
}

interface NodeSqlite {
  readonly DatabaseSync: new (path: string) => SqlDatabase;
}

/** The binding that is a part of Node; from 22.13 on, it needs no flag. */
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
    // The timeout for locks is 0: a wait would block the worker thread, and a store that has the file open keeps the
    // file locked until the store is closed.
    return (path) => new Database(path, { timeout: 0 });
  },
};

/** Returns the row of a statement that must have exactly one row. Throws StoreError `corrupt` if it has none. */
export function rowOf<Row>(statement: SqlStatement<Row>, ...values: SqlValue[]): Row {
  const row = statement.get(...values);
  if (row === undefined) throw new StoreError('corrupt', `SQLite: the database lacks ${values.join() || 'a row'}`);
  return row;
}

/**
 * Opens a database with the first binding that this runtime has. In measurements, the bindings were equally fast, so
 * the binding without a native build comes first.
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

// The primary result codes of SQLite: https://www.sqlite.org/rescode.html
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

/**
 * Returns a StoreError unchanged. For an error of a binding, returns a StoreError whose code depends on the result code
 * of SQLite. The code is `refused` for a result code that is not in the tables `codes` and `codesByName`.
 */
export function storeErrorFrom(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const { message } = error instanceof Error ? error : new Error(String(error));
  return new StoreError(codeOf(error), `SQLite: ${message}`, { cause: error });
}

function codeOf(error: unknown): StoreErrorCode {
  // An error of node:sqlite has a numeric, extended `errcode`, whose low byte is the primary code. An error of
  // better-sqlite3 has the name of the code in `code`.
  const errcode = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (typeof errcode === 'number') return codes[errcode & 0xff] ?? 'refused';
  return codesByName.find(([prefix]) => String(code).startsWith(prefix))?.[1] ?? 'refused';
}
