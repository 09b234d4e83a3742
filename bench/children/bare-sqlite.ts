// The limit for the storage: better-sqlite3 alone, with the same table `history`, the same bytes and the same number of
// rows per commit.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { answerCalls } from '../processes/answer-calls.ts';
import { figuresOf } from '../measure/figures.ts';
import type { Figures } from '../measure/figures.ts';

const schema = `
  CREATE TABLE history (revision INTEGER PRIMARY KEY, op INTEGER NOT NULL, kind INTEGER NOT NULL, previous INTEGER,
    key TEXT NOT NULL, data BLOB, CHECK (op = 2 OR data IS NOT NULL));`;

/** The number of objects that are updated and read. After the last of these objects, the first one is used again. */
const roundSize = 1_000;

let database: Database.Database;
let revision = 0;
let created = 0;
let updated = 0;
/** The revision of each object, by the number of the object. Our store has the revisions in memory as well. */
const present: number[] = [];

export interface SqliteWrites {
  readonly count: number;
  /** The number of rows in one commit. */
  readonly batch: number;
  /** The data of each row. */
  readonly data: string;
}

export interface PacedUpdates {
  readonly perSecond: number;
  readonly seconds: number;
  /** Each row's data. */
  readonly data: string;
}

function open(file: string): void {
  database = new Database(file);
  database.exec(`PRAGMA page_size = 8192; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 512; PRAGMA cache_size = -8192; ${schema}`);
}

function keyOf(number: number): string {
  return `/registry/people.example.com/persons/p-${number.toString()}`;
}

function create({ count, batch, data }: SqliteWrites): Figures {
  const bytes = Buffer.from(data);
  const insert = database.prepare('INSERT INTO history VALUES (?, 0, 1, NULL, ?, ?)');
  return commitAll({ count, batch }, () => {
    const number = created++;
    revision += 1;
    insert.run(revision, keyOf(number), bytes);
    present[number] = revision;
  });
}

function update({ count, batch, data }: SqliteWrites): Figures {
  const bytes = Buffer.from(data);
  const insert = database.prepare('INSERT INTO history VALUES (?, 1, 1, ?, ?, ?)');
  return commitAll({ count, batch }, () => {
    const number = updated++ % roundSize;
    revision += 1;
    insert.run(revision, present[number], keyOf(number), bytes);
    present[number] = revision;
  });
}

/**
 * Updates at a rate that does not depend on the commits. A commit has all updates that are due, and a latency counts
 * from the moment at which the update is due.
 */
async function updatePaced({ perSecond, seconds, data }: PacedUpdates): Promise<Figures> {
  const total = Math.floor(seconds * perSecond);
  const latenciesMs = new Float64Array(total);
  const startMs = performance.now();
  const dueMs = (position: number): number => startMs + (position * 1000) / perSecond;
  for (let from = 0; from < total;) {
    const waitMs = dueMs(from) - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, Math.ceil(waitMs)));
    const due = Math.floor(((performance.now() - startMs) * perSecond) / 1000) + 1;
    const to = Math.min(total, Math.max(from + 1, due));
    update({ count: to - from, batch: to - from, data });
    const endMs = performance.now();
    for (; from < to; from += 1) latenciesMs[from] = endMs - dueMs(from);
  }
  return figuresOf(latenciesMs, performance.now() - startMs);
}

/** Writes all rows in commits of `batch` rows. The latency of an operation is that of its commit. */
function commitAll({ count, batch }: Omit<SqliteWrites, 'data'>, write: () => void): Figures {
  const commit = database.transaction((from: number, to: number) => {
    for (let position = from; position < to; position += 1) write();
  });
  const latencies = new Float64Array(count);
  const startMs = performance.now();
  for (let from = 0; from < count; from += batch) {
    const to = Math.min(from + batch, count);
    const sinceMs = performance.now();
    commit(from, to);
    latencies.fill(performance.now() - sinceMs, from, to);
  }
  return figuresOf(latencies, performance.now() - startMs);
}

function get(count: number): Figures {
  const read = database.prepare('SELECT data FROM history WHERE revision = ?');
  return readAll(count, (position) => parse(read.get(present[position % roundSize])));
}

/** Reads the third page of 20 objects, again and again. */
function list(count: number): Figures {
  const read = database.prepare('SELECT data FROM history ORDER BY revision LIMIT 20 OFFSET 40');
  return readAll(count, () => read.all().map(parse));
}

/** Reads and parses every object once. In the figures, `p50Ms` is the time of all reads together. */
function scan(file: string): Figures {
  const source = new Database(file, { readonly: true });
  const startMs = performance.now();
  let count = 0;
  for (const row of source.prepare('SELECT key, revision, data FROM history').iterate()) {
    parse(row);
    count += 1;
  }
  const elapsedMs = performance.now() - startMs;
  source.close();
  return { opsPerSecond: (count / elapsedMs) * 1000, p50Ms: elapsedMs };
}

/** Reads every row, but does not parse it. Returns the time in milliseconds. */
function readRows(file: string): number {
  const source = new Database(file, { readonly: true });
  const startMs = performance.now();
  let bytes = 0;
  for (const row of source
    .prepare<[], { readonly data: Buffer | null }>('SELECT key, revision, data FROM history')
    .iterate())
    bytes += row.data?.length ?? 0;
  const elapsedMs = performance.now() - startMs;
  source.close();
  if (bytes === 0) throw new Error('the database has no rows');
  return elapsedMs;
}

/** Reads the files of a folder into memory, and does nothing else. Returns the time in milliseconds. */
async function readFiles(folder: string): Promise<number> {
  const startMs = performance.now();
  let bytes = 0;
  for (const name of await readdir(folder)) bytes += (await readFile(join(folder, name))).length;
  const elapsedMs = performance.now() - startMs;
  if (bytes === 0) throw new Error(`${folder} has no bytes`);
  return elapsedMs;
}

/** The memory that {@link hold} has filled. */
let held: readonly Buffer[] = [];

const heldTogether = 1024 * 1024;

/**
 * Fills this many bytes of memory, rounded up to whole megabytes. Returns the resident memory of the process without
 * the bytes that the rounding added.
 */
function hold(bytes: number): number {
  held = Array.from({ length: Math.ceil(bytes / heldTogether) }, () => Buffer.alloc(heldTogether, 1));
  return process.memoryUsage.rss() - held.length * heldTogether + bytes;
}

function parse(row: unknown): unknown {
  return JSON.parse((row as { data: Buffer }).data.toString());
}

function readAll(count: number, read: (position: number) => unknown): Figures {
  const latencies = new Float64Array(count);
  const startMs = performance.now();
  for (let position = 0; position < count; position += 1) {
    const sinceMs = performance.now();
    read(position);
    latencies[position] = performance.now() - sinceMs;
  }
  return figuresOf(latencies, performance.now() - startMs);
}

/** Deletes the records that an API server has kept in its database for its next start. */
function forget(file: string): void {
  const kept = new Database(file);
  kept.exec('DELETE FROM kept');
  kept.close();
}

answerCalls({ open, create, update, updatePaced, get, list, scan, readRows, readFiles, hold, forget });
