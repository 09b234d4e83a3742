import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

import { continueBackup } from './sqlite-backup.ts';
import { openDatabase, rowOf, type SqlDatabase, storeErrorFrom } from './sqlite-binding.ts';
import { countTables, createMeta, migrations } from './sqlite-tables.ts';
import * as sql from './sqlite-statements.ts';
import { StoreError } from '../store-error.ts';

/** The settings of a connection for durability, exclusive access and sizes, as SQLite reports them. */
export interface SqlitePragmas {
  readonly journalMode: string;
  /** The number that SQLite reports for `PRAGMA synchronous`; 2 is FULL. */
  readonly synchronous: number;
  readonly lockingMode: string;
  readonly pageBytes: number;
  /** The size of the write-ahead log, in pages, at which SQLite writes it back into the database. */
  readonly walAutocheckpoint: number;
}

/**
 * The size of a page in a new file; an existing file keeps its page size. Measured processor time of a creation of 1.4
 * KB:
 *
 * | page                    | in commits of 128 creations | in commits of 20 creations                  |
 * | ----------------------- | --------------------------- | ------------------------------------------- |
 * | 4 KB (SQLite's default) | 8.8 µs                      | 10.2 µs                                     |
 * | 8 KB                    | 5.6 µs                      | 8.8 µs                                      |
 * | 16 KB                   | 4.6 µs                      | 8.9 µs, and a third more is written to disk |
 */
const pageBytes = 8192;

/**
 * The size at which SQLite writes the write-ahead log back into the database. Commits wait meanwhile: with 256 writers,
 * the p99 of a creation was 29 ms with 4 MB, 59 ms with 12 MB, and 25 ms with 1 MB, which writes 6% more to the disk.
 */
const walAutocheckpointBytes = 4 * 1024 * 1024;

/**
 * The size of SQLite's own cache of pages, in KiB. SQLite reads little, because the objects are in the memory of the
 * server: creations and updates took the same processor time with 4 MiB as with 64 MiB.
 */
const cacheKib = 8192;

/**
 * Opens a database so that it is durable and exclusive, and migrates its tables. If `path` is undefined, the database
 * is in memory.
 */
export async function connect(path: string | undefined): Promise<SqlDatabase> {
  if (path === undefined) return prepared(await openDatabase(':memory:'), 'memory:');
  let database: SqlDatabase | undefined;
  try {
    createFile(path);
    database = await openDatabase(path);
    return prepared(database, path);
  } catch (error) {
    database?.close();
    throw explained(storeErrorFrom(error), path);
  }
}

export function readPragmas(database: SqlDatabase): SqlitePragmas {
  const read = (name: string): unknown => Object.values(rowOf(database.prepare<object>(`PRAGMA ${name}`)))[0];
  return {
    journalMode: String(read('journal_mode')),
    synchronous: Number(read('synchronous')),
    lockingMode: String(read('locking_mode')),
    pageBytes: Number(read('page_size')),
    walAutocheckpoint: Number(read('wal_autocheckpoint')),
  };
}

function createFile(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // With the flag `wx`, an existing file is not opened. Otherwise, `closeSync` would release the POSIX locks that
    // another store of this process has on the file. SQLite gives the WAL file the mode of the database file.
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    const { code, message }: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
    if (code !== 'EEXIST') throw new StoreError('io', message, { cause: error });
    tighten(path);
  }
}

/** Removes the access of other users to the files of a database if other users can write to them. */
function tighten(path: string): void {
  // Windows does not have these file modes.
  if (process.platform === 'win32') return;
  for (const file of [path, `${path}-wal`]) {
    const mode = modeOf(file);
    if ((mode & 0o022) !== 0) takeRights(file, mode);
  }
}

/**
 * Returns the mode of a file; 0 when it cannot be read, because the attempt to open the file then reports the reason.
 */
function modeOf(file: string): number {
  try {
    return statSync(file).mode;
  } catch {
    return 0;
  }
}

function takeRights(file: string, mode: number): void {
  try {
    chmodSync(file, mode & 0o700);
  } catch (error) {
    const octal = (mode & 0o777).toString(8).padStart(4, '0');
    const message = `${file}: users other than its owner can change this file (mode ${octal}), and this process cannot change the mode: chmod 600 it`;
    throw new StoreError('refused', message, { cause: error });
  }
}

function prepared(database: SqlDatabase, path: string): SqlDatabase {
  // The page size must be set before the first write. The locking mode must be set before WAL, so that SQLite keeps the
  // index of the WAL in memory and never releases the lock.
  database.exec(`PRAGMA page_size = ${pageBytes};
    PRAGMA locking_mode = EXCLUSIVE; PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL; PRAGMA cache_size = -${cacheKib}; PRAGMA temp_store = MEMORY`);
  const pragmas = readPragmas(database);
  database.exec(`PRAGMA wal_autocheckpoint = ${Math.round(walAutocheckpointBytes / pragmas.pageBytes)}`);
  const wanted = path === 'memory:' ? 'memory' : 'wal';
  if (pragmas.journalMode !== wanted || pragmas.synchronous !== 2) {
    throw new StoreError('refused', `${path} cannot be made durable: ${JSON.stringify(pragmas)}`);
  }
  database.exec('BEGIN IMMEDIATE');
  migrate(database, path);
  continueBackup(database);
  database.exec('COMMIT');
  return database;
}

function migrate(database: SqlDatabase, path: string): void {
  const found = rowOf(database.prepare<{ readonly tables: number; readonly meta: number }>(countTables));
  if (found.tables > 0 && found.meta === 0) throw new StoreError('corrupt', `${path} is a database of another program`);
  database.exec(createMeta);
  const stored = database.prepare<{ readonly value: number }>(sql.getMeta).get('schema');
  const version = stored?.value ?? 0;
  if (version > migrations.length) {
    const known = migrations.length;
    const message = `${path} has schema version ${version}, this program knows ${known}: update Homeostat`;
    throw new StoreError('newer', message);
  }
  for (const migration of migrations.slice(version)) database.exec(migration);
  database.prepare(sql.setMeta).run('schema', migrations.length);
}

/** Returns the error of an attempt to open a database, with a message that names the file. */
export function explained(error: StoreError, path: string): StoreError {
  if (error.code === 'locked') {
    return new StoreError('locked', `${path} is in use by another process or store; only one may have it open`, {
      cause: error,
    });
  }
  if (error.message.includes(path)) return error;
  return new StoreError(error.code, `cannot open ${path}: ${error.message}`, { cause: error });
}
