import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { systemClock } from '@homeostat/controller-runtime';
import { silentLogger } from '@homeostat/controller-runtime/api';
import type { ExportManifest, ExportSummary } from '../backup/export-format.ts';
import { ExportReader } from '../backup/export-reader.ts';
import type { ExportedObject } from '../backup/export-reader.ts';
import { importObjects } from '../backup/import-objects.ts';
import { ObjectsDigest } from '../backup/objects-digest.ts';
import { Snapshot } from '../backup/snapshot.ts';
import { refuseUnfinishedImport } from '../backup/unfinished-import.ts';
import { writeExport } from '../backup/write-export.ts';
import { EncryptedStore } from '../encryption/encrypted-store.ts';
import { defaultEncryption, encryptionOf, importEncryption } from '../encryption/open-encryption.ts';
import type { ExportedForm } from '../encryption/open-encryption.ts';
import { isSealed, sealingKeyOf } from '../encryption/sealed-bytes.ts';
import { openStore, parseDatabaseUrl } from '../store/open/database-url.ts';
import type { DatabaseLocation } from '../store/open/database-url.ts';
import { kindNameOf, kindOfKey } from '../store/object-key.ts';
import type { StoredKind } from '../store/object-key.ts';
import type { Store } from '../store/store.ts';

export interface ImportDatabaseOptions {
  /** The URL of the database, as for {@link exportDatabase}. A missing SQLite file is created. */
  readonly database: string;
  /** The path of an export file. */
  readonly file: string;
  /**
   * The path of an encryption configuration: that of the server that will use the database. If the export has objects
   * in plain text, the import encrypts those whose kinds the configuration names. Default: the file `encryption.key`
   * beside a SQLite database, or in `./data` for other databases. The key in this file encrypts Secrets and the vault.
   * The import reads or creates this file only if the export has Secrets or the vault in plain text.
   */
  readonly encryptionConfig?: string;
  /**
   * True: leaves out the objects that are encrypted in the export, so that the import does not need the encryption keys
   * of these objects. Default false.
   */
  readonly withoutEncrypted?: boolean;
  /**
   * Called with the number of objects that have been read and passed on to be written so far, and with the total number
   * of objects to import.
   */
  readonly onProgress?: (objects: number, total: number) => void;
  /**
   * Aborts the import after the current piece of the file: the call rejects with the reason of the signal. A second
   * call with the same options completes the import.
   */
  readonly signal?: AbortSignal;
}

export interface ExportDatabaseOptions {
  /**
   * True: exports the encrypted objects (by default, Secrets) and the server's own secrets in plain text. Default
   * false: exports them as they are stored.
   */
  readonly decrypt?: boolean;
  /**
   * The path of the encryption configuration with the keys for {@link decrypt}. Default: the encryption configuration
   * that the server created: the file `encryption.key` beside a SQLite database, or in `./data` for other databases.
   */
  readonly encryptionConfig?: string;
}

/**
 * Exports a database (`sqlite:<file>`, `postgres://…`, `mysql://…` or `etcd://…`). Yields the text of the export, in
 * pieces of whole lines. The database is locked exclusively until the end. Rejects with StoreError `locked` while a
 * server uses the database, with RangeError for an invalid URL, and with EncryptionConfigError when a key for
 * decryption is missing.
 */
export async function* exportDatabase(
  database: string,
  options: ExportDatabaseOptions = {},
): AsyncGenerator<string, void, undefined> {
  const location = parseLasting(database);
  // `access` rejects for a missing file, which would otherwise be created when it is opened.
  if (location.engine === 'sqlite') await access(location.path);
  const { decrypt = false, encryptionConfig } = options;
  const keys = decrypt ? await encryptionOf(encryptionConfig, defaultEncryption(database)) : undefined;
  const stored = await openExclusively(database);
  const store = keys === undefined ? stored : new EncryptedStore(stored, keys);
  try {
    const { epoch } = await store.open();
    await refuseUnfinishedImport(store);
    yield* writeExport(await Snapshot.of(store), { epoch, nowMs: systemClock.now() });
  } finally {
    await store.close();
  }
}

/**
 * Imports an export into an empty database. Checks the whole file before it changes anything; then writes the objects,
 * reads them back and compares them. Returns the manifest of the file, with the number of objects that the database
 * then has. Once the call has begun to write, no server can use the database until a call with the same options
 * succeeds. Rejects with ExportFileError, with StoreError (`refused`: not empty, `locked`: in use), with RangeError for
 * an invalid URL, and with EncryptionConfigError for keys that cannot be used.
 */
export async function importDatabase(options: ImportDatabaseOptions): Promise<ExportManifest & ExportSummary> {
  const { database, encryptionConfig } = options;
  parseLasting(database);
  const { proved, form } = await proveFile(options);
  const keys = await encryptionOf(encryptionConfig, importEncryption(database, form));
  const store = new EncryptedStore(await openExclusively(database), keys);
  try {
    await store.open();
    const { stored } = store;
    const readable = store.readable.bind(store);
    const objects = counted(objectsOf(options, new ExportReader()), proved.objects, options);
    await importObjects(store, { proved, objects }, { stored, isSealed, readable });
    return proved;
  } finally {
    await store.close();
  }
}

function parseLasting(url: string): DatabaseLocation {
  const location = parseDatabaseUrl(url);
  if (location.engine === 'memory') throw new RangeError('a memory: database has no data outside of its process');
  return location;
}

function openExclusively(url: string): Promise<Store> {
  return openStore(url, { clock: systemClock, logger: silentLogger, uuid: randomUUID }, { exclusive: true });
}

async function proveFile(
  options: ImportDatabaseOptions,
): Promise<{ readonly proved: ExportManifest & ExportSummary; readonly form: ExportedForm }> {
  const reader = new ExportReader();
  const keys = new Set<string>();
  const plainKinds = new Map<string, StoredKind>();
  const digest = options.withoutEncrypted === true ? new ObjectsDigest() : undefined;
  for await (const some of objectsOf(options, reader)) {
    for (const { key, data } of some) {
      digest?.add({ key, data });
      const name = isSealed(data) ? sealingKeyOf(data) : undefined;
      if (name !== undefined) keys.add(name);
      const kind = isSealed(data) ? undefined : kindOfKey(key);
      if (kind !== undefined) plainKinds.set(kindNameOf(kind), kind);
    }
  }
  const manifest = reader.end();
  const left = digest === undefined ? {} : { objects: digest.objects, sha256: digest.sum() };
  return { proved: { ...manifest, ...left }, form: { keys: [...keys], plainKinds: [...plainKinds.values()] } };
}

async function* counted(
  objects: AsyncIterable<readonly ExportedObject[]>,
  total: number,
  { onProgress }: Pick<ImportDatabaseOptions, 'onProgress'>,
): AsyncGenerator<readonly ExportedObject[], void, undefined> {
  let count = 0;
  for await (const some of objects) {
    yield some;
    count += some.length;
    onProgress?.(count, total);
  }
}

/** Yields the objects of the file that are imported. */
async function* objectsOf(
  { file, signal, withoutEncrypted = false }: ImportDatabaseOptions,
  reader: ExportReader,
): AsyncGenerator<readonly ExportedObject[], void, undefined> {
  for await (const piece of createReadStream(file) as AsyncIterable<Buffer>) {
    signal?.throwIfAborted();
    const objects = reader.push(piece);
    yield withoutEncrypted ? objects.filter(({ data }) => !isSealed(data)) : objects;
  }
}
