import { closeSync, openSync, rmSync, truncateSync } from 'node:fs';
import { StoreError } from '../store-error.ts';
import { openDatabase, rowOf, type SqlDatabase } from './sqlite-binding.ts';
import * as sql from './sqlite-statements.ts';
import { setEpoch } from './sqlite-tables.ts';

/**
 * The number of revisions that a restored database skips, because clients may have seen these revisions before the
 * restore.
 */
const revisionGap = 1_000_000;

/**
 * The number of pages that are copied in one step: 2 MiB, with pages of 8 KiB. A backup of 105 MB took 0.6 s. During a
 * backup, commits took up to 10 ms (p99) instead of 5 ms, and one commit waited 100 ms for the sync at the end.
 */
const pagesPerStep = 256;

interface NodeSqlite {
  readonly backup?: (
    database: SqlDatabase,
    path: string,
    options: { readonly rate: number; readonly progress: () => void },
  ) => Promise<number>;
}

export interface CopyParts {
  /**
   * Aborts the backup before its next step; {@link backUpDatabase} then rejects with the reason of the signal. The
   * database must stay open until `backUpDatabase` settles: if the database is closed during a backup, the promise that
   * Node's `backup` returns never settles.
   */
  readonly signal: AbortSignal;
  /** The backup function of node:sqlite. Default: the function of the running Node, if it has one. */
  readonly byNode?: NodeSqlite['backup'];
}

/**
 * Copies a database that is in use into a new file that only its owner can read, and marks the copy as a backup. The
 * copy has every write that was committed before the call, and may have later ones. If the copy fails, the file is
 * deleted.
 * @throws StoreError `locked` when the file already exists, which then stays
 */
export async function backUpDatabase(database: SqlDatabase, path: string, parts: CopyParts): Promise<void> {
  createFile(path);
  try {
    await copyDatabase(database, path, parts);
    parts.signal.throwIfAborted();
    await markBackup(path);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

function createFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (cause) {
    const isThere = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST';
    throw isThere ? new StoreError('locked', 'a backup is under way, please try again later', { cause }) : cause;
  }
}

/**
 * Copies the database in steps if the driver or Node has a backup function. Meanwhile, writes of the same connection
 * continue, and the copy includes them. If neither has such a function, or if Node's function fails, `VACUUM INTO`
 * makes the copy, and writes wait until it is complete.
 */
async function copyDatabase(database: SqlDatabase, path: string, parts: CopyParts): Promise<void> {
  const { signal, byNode = nodeSqlite()?.backup } = parts;
  const progress = (): number => {
    signal.throwIfAborted();
    return pagesPerStep;
  };
  if (database.backup !== undefined) {
    await database.backup(path, { progress });
    return;
  }
  if (byNode !== undefined && (await isCopied(() => byNode(database, path, { rate: pagesPerStep, progress })))) return;
  signal.throwIfAborted();
  // `VACUUM INTO` copies in a single step, during which writes wait. It writes only into an empty file. If Node's
  // `backup` has failed, it may have left data in the file, so the file is emptied first.
  truncateSync(path);
  database.prepare('VACUUM INTO ?').run(path);
}

/** Returns the module node:sqlite; undefined when Node lacks it. The module has `backup` from Node 22.16 on. */
function nodeSqlite(): NodeSqlite | undefined {
  return process.getBuiltinModule('node:sqlite');
}

/**
 * Runs a copy. Returns false when it fails: the `backup` function of Node 22 sometimes fails ("not an error") when a
 * write begins meanwhile.
 */
async function isCopied(copy: () => Promise<unknown>): Promise<boolean> {
  try {
    await copy();
    return true;
  } catch {
    return false;
  }
}

/** Marks a copy as a backup, and makes it a single file, without a write-ahead log beside it. */
async function markBackup(path: string): Promise<void> {
  const copy = await openDatabase(path);
  try {
    // The file is sent immediately and then deleted, so it need not survive a power cut.
    copy.exec('PRAGMA synchronous = OFF; PRAGMA journal_mode = DELETE');
    copy.prepare(sql.setMeta).run('backup', 1);
  } finally {
    copy.close();
  }
}

/**
 * Starts a new history if the database is a restored backup. Clients may have seen revisions that the backup does not
 * have. If these revisions were assigned again, a client that follows changes would miss some. Call this in a
 * transaction.
 */
export function continueBackup(database: SqlDatabase): void {
  const getMeta = database.prepare<{ readonly value: number }>(sql.getMeta);
  if (getMeta.get('backup') === undefined) return;
  const { value: compacted } = rowOf(getMeta, 'compactRevision');
  const { revision } = rowOf(database.prepare<{ readonly revision: number }>(sql.lastRevision));
  const last = Math.max(compacted, revision);
  database.exec(sql.dropPresent);
  database.prepare(sql.dropReplaced).run(compacted, last);
  database.prepare(sql.dropDeletes).run(compacted, last);
  database.prepare(sql.setMeta).run('compactRevision', last + revisionGap);
  database.exec(setEpoch);
  database.prepare(sql.dropMeta).run('backup');
}
