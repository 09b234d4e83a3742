import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseDatabaseUrl } from '../store/open/database-url.ts';
import type { StoredKind } from '../store/object-key.ts';
import type { Store } from '../store/store.ts';
import { createPrivate, readPrivate } from '../tls/private-file.ts';
import type { OpenEncryption } from './encrypted-store.ts';
import { Encryption } from './encryption.ts';
import { EncryptionConfigError, parseEncryptionConfig } from './encryption-config.ts';
import type { Environment } from './encryption-config.ts';
import { keyBytes } from './sealed-bytes.ts';

/**
 * The prefix of the names of encryption keys in the database's numbered list of names. The list has the name of each
 * key that may have encrypted an object of the database.
 */
const keyNamePrefix = 'encryption-key:';

/**
 * Returns the encryption of the configuration file at a path; without a path, returns `otherwise`. Rejects with
 * EncryptionConfigError when the file is missing or cannot be used.
 */
export async function encryptionOf(path: string | undefined, otherwise: OpenEncryption): Promise<OpenEncryption> {
  if (path === undefined) return otherwise;
  const encryption = await readConfig(path, process.env).catch((cause: unknown) => {
    throw isMissing(cause) ? new EncryptionConfigError(`${path}: there is no such file`, { cause }) : cause;
  });
  return async (store) => {
    await noteKeys(store, encryption.writingKeys);
    return encryption;
  };
}

/**
 * Reads the encryption configuration in the file `encryption.key` (see {@link defaultKeyFile}). At the first start,
 * creates the file with a new key. Rejects with EncryptionConfigError when the file has none of the keys with which
 * objects of the database are encrypted. For a database in memory, uses no file, but {@link processEncryption}.
 */
export function defaultEncryption(database: string): OpenEncryption {
  const path = defaultKeyFile(database);
  if (path === undefined) return processEncryption;
  return async (store) => {
    const known = await knownKeys(store);
    const isNew = known.length === 0 && (await createKeyFile(path));
    const encryption = await readConfig(path, process.env).catch((error: unknown) => {
      throw isMissing(error) ? lostKeys(path, known) : error;
    });
    if (known.length > 0 && !known.some((name) => encryption.hasKey(name))) throw lostKeys(path, known);
    await noteKeys(store, encryption.writingKeys);
    if (isNew) await refuseSecondKey(store, encryption, path);
    return encryption;
  };
}

/** The properties of an exported file that an import needs to know. */
export interface ExportedForm {
  /** The names of the keys with which objects in the exported file are encrypted. */
  readonly keys: readonly string[];
  /** The kinds of which the exported file has objects in plain text. */
  readonly plainKinds: readonly StoredKind[];
}

/**
 * Finds the keys for an import. If Secrets or the vault are in plain text in the export, finds or creates the key as
 * {@link defaultEncryption} does. Otherwise reads and creates no key: Secrets in the export are already encrypted, and
 * the operator has to copy the key of the exported database.
 */
export function importEncryption(database: string, { keys, plainKinds }: ExportedForm): OpenEncryption {
  const needsKey = plainKinds.some((kind) => withoutKeys.isOutdated(withoutKeys.of(kind), new Uint8Array()));
  return async (store) => {
    const encryption = needsKey ? await defaultEncryption(database)(store) : withoutKeys;
    await noteKeys(store, keys);
    return encryption;
  };
}

/**
 * The encryption for imports and reads that need no key. It names the same kinds as the default configuration, but its
 * random key encrypts nothing. Objects that are already encrypted are neither decrypted nor encrypted again.
 */
const withoutKeys = new Encryption([
  { resources: ['secrets'], providers: [{ key: { name: 'none', secret: createSecretKey(randomBytes(keyBytes)) } }] },
]);

/**
 * Finds the keys as a server does, but creates no key and writes nothing to the database. Without `encryption.key`,
 * encrypted objects are returned in their stored form, with a `problem`.
 */
export function readingEncryption(database: string, config: string | undefined): OpenEncryption {
  const path = config ?? defaultKeyFile(database);
  return async () => {
    if (path === undefined) return withoutKeys;
    return readConfig(path, process.env).catch((error: unknown) => {
      if (isMissing(error) && config === undefined) return withoutKeys;
      throw error;
    });
  };
}

let keyOfProcess: Encryption | undefined;

/** Returns an encryption with a random key, which all databases in the memory of this process share. */
export const processEncryption: OpenEncryption = async () => {
  const key = { name: 'process', secret: createSecretKey(randomBytes(keyBytes)) };
  keyOfProcess ??= new Encryption([{ resources: ['secrets'], providers: [{ key }] }]);
  return keyOfProcess;
};

/**
 * Returns the path of `encryption.key`: beside a SQLite file, or in `./data` for other databases; undefined for a
 * database in memory.
 */
function defaultKeyFile(database: string): string | undefined {
  const location = parseDatabaseUrl(database);
  if (location.engine === 'memory') return undefined;
  return join(location.engine === 'sqlite' ? dirname(location.path) : 'data', 'encryption.key');
}

async function readConfig(path: string, environment: Environment): Promise<Encryption> {
  const text = await readPrivate(path, { groupOfRoot: true, holds: 'file' }).catch((cause: unknown) => {
    if (isMissing(cause)) throw cause;
    throw new EncryptionConfigError(cause instanceof Error ? cause.message : String(cause), { cause });
  });
  return parseEncryptionConfig(text, path, environment);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** Creates the key file. Returns false when the file already exists. */
async function createKeyFile(path: string): Promise<boolean> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await createPrivate(path, newConfig());
    return true;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new EncryptionConfigError(
      `${path}: the key that encrypts Secrets cannot be stored: ${reason}; make the folder writable, or use --encryption-config`,
      { cause },
    );
  }
}

function newConfig(): string {
  const name = `key-${randomBytes(4).toString('hex')}`;
  return `# The key that encrypts the Secrets of the database. Keep a copy apart from copies of the database: without the key, no one
# can read the Secrets. To change the key, write a new one above it, restart the server, and run "homeostat reencrypt".
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [secrets]
    providers:
      - aesgcm:
          keys:
            - name: ${name}
              secret: ${randomBytes(keyBytes).toString('base64')}
      - identity: {}
`;
}

type Names = Pick<Store, 'names' | 'numberOf'>;

async function knownKeys(store: Names): Promise<readonly string[]> {
  const names = await store.names(keyNamePrefix);
  return names.map((name) => name.slice(keyNamePrefix.length)).sort();
}

/** Stores in the database the names of the keys that encrypt objects from now on. */
async function noteKeys(store: Names, names: readonly string[]): Promise<void> {
  for (const name of names) await store.numberOf(keyNamePrefix + name);
}

/**
 * Rejects when another server has stored the name of another key first. Two servers may start on the same new database
 * with different keys: the key of the first server remains, and the second server is refused.
 */
async function refuseSecondKey(store: Names, encryption: Encryption, path: string): Promise<void> {
  const known = await knownKeys(store);
  const numbered = await Promise.all(
    known.map(async (name) => ({ name, number: await store.numberOf(keyNamePrefix + name) })),
  );
  const [first] = numbered.sort((a, b) => a.number - b.number);
  if (first === undefined || encryption.hasKey(first.name)) return;
  // The new key has not encrypted any object yet, so it can be deleted.
  await rm(path);
  throw lostKeys(path, [first.name]);
}

function lostKeys(path: string, names: readonly string[]): EncryptionConfigError {
  const keys = names.map((name) => `"${name}"`).join(', ');
  return new EncryptionConfigError(
    `${path}: objects of the database are encrypted with key ${keys}, which this file does not hold: copy encryption.key from the server that encrypted them, or name the keys with --encryption-config`,
  );
}
