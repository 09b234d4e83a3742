import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { systemClock } from '@homeostat/controller-runtime';
import { silentLogger } from '@homeostat/controller-runtime/api';
import type { ExportManifest, ExportSummary } from '../backup/export-format.ts';
import { ExportReader } from '../backup/export-reader.ts';
import type { ExportedObject } from '../backup/export-reader.ts';
import { importObjects } from '../backup/import-objects.ts';
import { Snapshot } from '../backup/snapshot.ts';
import { refuseUnfinishedImport } from '../backup/unfinished-import.ts';
import { writeExport } from '../backup/write-export.ts';
import { openStore, parseDatabaseUrl } from '../store/open/database-url.ts';
import type { DatabaseLocation } from '../store/open/database-url.ts';
import type { Store } from '../store/store.ts';

export interface ImportDatabaseOptions {
  /** The URL of the database, as for {@link exportDatabase}. A missing SQLite file is created. */
  readonly database: string;
  /** The path of an export file. */
  readonly file: string;
  /** Stops between two pieces of the file; the import is then incomplete, and the same call completes it. */
  readonly signal?: AbortSignal;
}

/**
 * The text of an export of a database (`sqlite:<file>`, `postgres://…` or `mysql://…`), whole lines at a time. The
 * database is locked exclusively until the end: rejects with StoreError `locked` while a server has it, and with
 * RangeError for an invalid URL.
 */
export async function* exportDatabase(database: string): AsyncGenerator<string, void, undefined> {
  const location = parseLasting(database);
  // Opening a missing file would create it.
  if (location.engine === 'sqlite') await access(location.path);
  const store = await openExclusively(database);
  try {
    const { epoch } = await store.open();
    await refuseUnfinishedImport(store);
    yield* writeExport(await Snapshot.of(store), { epoch, nowMs: systemClock.now() });
  } finally {
    await store.close();
  }
}

/**
 * Imports an export into an empty database: reads the whole file before it changes anything, writes the objects, reads
 * them back and compares. Returns the file's manifest, which by then describes the database as well. Repeat a call that
 * was interrupted; until one has succeeded, no server can use the database. Rejects with ExportFileError, with
 * StoreError (`refused`: not empty, `locked`: in use), and with RangeError for an invalid URL.
 */
export async function importDatabase(options: ImportDatabaseOptions): Promise<ExportManifest & ExportSummary> {
  parseLasting(options.database);
  const proved = await proveFile(options);
  const store = await openExclusively(options.database);
  try {
    await store.open();
    await importObjects(store, { proved, objects: objectsOf(options, new ExportReader()) });
    return proved;
  } finally {
    await store.close();
  }
}

function parseLasting(url: string): DatabaseLocation {
  const location = parseDatabaseUrl(url);
  if (location.engine === 'memory') throw new RangeError('memory: lasts no longer than its process');
  return location;
}

function openExclusively(url: string): Promise<Store> {
  return openStore(url, { clock: systemClock, logger: silentLogger, uuid: randomUUID }, { exclusive: true });
}

async function proveFile(options: ImportDatabaseOptions): Promise<ExportManifest & ExportSummary> {
  const reader = new ExportReader();
  for await (const _ of objectsOf(options, reader));
  return reader.end();
}

async function* objectsOf(
  { file, signal }: ImportDatabaseOptions,
  reader: ExportReader,
): AsyncGenerator<readonly ExportedObject[], void, undefined> {
  for await (const piece of createReadStream(file) as AsyncIterable<Buffer>) {
    signal?.throwIfAborted();
    yield reader.push(piece);
  }
}
