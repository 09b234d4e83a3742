import { randomUUID } from 'node:crypto';
import { systemClock } from '@homeostat/controller-runtime';
import { isJsonObject, silentLogger } from '@homeostat/controller-runtime/api';
import { EncryptedStore } from '../encryption/encrypted-store.ts';
import { readingEncryption } from '../encryption/open-encryption.ts';
import { openStore } from '../store/open/database-url.ts';
import { storedSchema } from '../store/open/stored-schema.ts';
import type { Row, Store } from '../store/store.ts';

/** The state of a database, which the inspection does not change. */
export interface DatabaseInspection {
  /** The version of the database's tables; 0 for a new database. */
  readonly schema: number;
  /** The version of the tables that this program uses. A server upgrades older tables when it starts. */
  readonly knownSchema: number;
  /** The number of objects; 0 if they were not read, because the tables have another version than this program uses. */
  readonly objects: number;
  /** The keys of the first 20 objects that cannot be read, each with the reason. */
  readonly unreadable: readonly { readonly key: string; readonly reason: string }[];
  readonly unreadableObjects: number;
}

export interface InspectDatabaseOptions {
  /**
   * The path of the encryption configuration with the keys of encrypted objects. Default: the encryption configuration
   * that the server creates: the file `encryption.key` beside a SQLite database, or in `./data` for other databases.
   */
  readonly encryptionConfig?: string;
}

const maxListed = 20;

/**
 * Reads a database as a server would when it starts, but changes neither tables nor objects. Rejects with RangeError
 * for an invalid URL, with StoreError (`locked` while a server uses the SQLite file), and with EncryptionConfigError.
 */
export async function inspectDatabase(
  database: string,
  { encryptionConfig }: InspectDatabaseOptions = {},
): Promise<DatabaseInspection> {
  const { stored, known } = await storedSchema(database, systemClock);
  const versions = { schema: stored, knownSchema: known };
  if (stored === 0 || stored !== known) return { ...versions, objects: 0, unreadable: [], unreadableObjects: 0 };
  const opened = await openStore(database, { clock: systemClock, logger: silentLogger, uuid: randomUUID });
  const store = new EncryptedStore(opened, readingEncryption(database, encryptionConfig));
  try {
    await store.open();
    return { ...versions, ...(await readAll(store)) };
  } finally {
    await store.close();
  }
}

async function readAll(
  store: Pick<Store, 'scan'>,
): Promise<Pick<DatabaseInspection, 'objects' | 'unreadable' | 'unreadableObjects'>> {
  let objects = 0;
  let unreadableObjects = 0;
  const unreadable: { readonly key: string; readonly reason: string }[] = [];
  for await (const rows of store.scan()) {
    objects += rows.length;
    for (const row of rows) {
      const reason = problemOf(row);
      if (reason === undefined) continue;
      unreadableObjects += 1;
      if (unreadable.length < maxListed) unreadable.push({ key: row.key, reason });
    }
  }
  return { objects, unreadable, unreadableObjects };
}

function problemOf({ data, problem }: Row): string | undefined {
  if (problem !== undefined) return problem;
  try {
    return isJsonObject(JSON.parse(Buffer.from(data).toString())) ? undefined : 'the stored value is not a JSON object';
  } catch {
    return 'the stored value is not JSON';
  }
}
