import { compareCodePoints } from '@homeostat/controller-runtime/api';
import { kindNameOf, kindOfKey } from '../store/object-key.ts';
import type { BatchLimits, Operation, Row, Store } from '../store/store.ts';
import { StoreError } from '../store/store-error.ts';
import type { ExportManifest, ExportSummary } from './export-format.ts';
import type { ExportedObject } from './export-reader.ts';
import { ObjectsDigest } from './objects-digest.ts';
import { beginImport, finishImport, isMarker, unfinishedImport } from './unfinished-import.ts';

/**
 * The gap between the highest former revision and the first new revision. A client may still have a revision of the
 * exported database, or of this database before the import. Such a revision must not identify a new state.
 */
const revisionGap = 1_000_000;

/** The limits of one commit, unless the store has its own. A batch ends at the first limit that it reaches. */
const batchLimits: BatchLimits = { maxOperations: 1000, maxBytes: 4 * 1024 * 1024 };

export interface ImportSource {
  /**
   * The manifest and the summary of the export. They are correct: the whole export has been read and checked before.
   */
  readonly proved: ExportManifest & ExportSummary;
  /** The objects of the export, in the order of their keys. */
  readonly objects: AsyncIterable<readonly ExportedObject[]>;
}

/** The conversion between the exported form of objects and the form in the store. */
export interface StoredForm {
  /** The store without decryption, which returns the bytes as they are stored. */
  readonly stored: Store;
  /** True for exported bytes that are already encrypted, so that they are stored unchanged. */
  readonly isSealed: (data: Uint8Array) => boolean;
  /** Returns a stored row, decrypted if it was encrypted. */
  readonly readable: (row: Row) => Row;
}

/**
 * Writes the objects of an export into an open, empty store, or completes an unfinished import of the same export.
 * Resolves once the objects have been read back, and their digest is that of the export. Until then the database is
 * marked as unfinished, and can be neither served nor exported. Rejects with StoreError `refused` when the store has
 * other objects.
 */
export async function importObjects(
  store: Store,
  { proved, objects }: ImportSource,
  form: StoredForm = { stored: store, isSealed: () => false, readable: (row) => row },
): Promise<void> {
  await prepare(store, proved);
  const last = await lastKey(store);
  const writer = new BatchWriter(store);
  const sealed = new Set<string>();
  for await (const some of objects) {
    for (const object of some) {
      if (form.isSealed(object.data)) sealed.add(object.key);
      if (compareCodePoints(object.key, last) > 0) await writer.add(object);
    }
  }
  await writer.flush();
  await prove(proved, form, sealed);
  await finishImport(store);
}

async function prepare(store: Store, { revision, sha256 }: ExportManifest & ExportSummary): Promise<void> {
  const unfinished = await unfinishedImport(store);
  if (unfinished === sha256) return;
  if (unfinished !== undefined) {
    const message =
      'the database holds a part of an import of another file: finish that import, or import into an empty database';
    throw new StoreError('refused', message);
  }
  await store.startHistory(Math.max(revision, await store.currentRevision()) + revisionGap);
  await beginImport(store, sha256);
}

/**
 * Returns the last key in the store. The store has all objects of the export up to this key, since batches are written
 * in order, each in one commit.
 */
async function lastKey(store: Store): Promise<string> {
  let last = '';
  for await (const page of store.scan()) {
    for (const row of page) if (!isMarker(row)) last = row.key;
  }
  return last;
}

/** Creates objects, in batches of one commit each. */
class BatchWriter {
  readonly #store: Store;
  readonly #limits: BatchLimits;
  readonly #kinds = new Map<string, number>();
  #batch: Operation[] = [];
  #bytes = 0;

  constructor(store: Store) {
    this.#store = store;
    this.#limits = store.batchLimits ?? batchLimits;
  }

  async add({ key, data }: ExportedObject): Promise<void> {
    this.#batch.push({ op: 'create', key, kind: await this.#kindOf(key), data });
    this.#bytes += data.byteLength;
    const { maxOperations, maxBytes } = this.#limits;
    if (this.#batch.length >= maxOperations || this.#bytes >= maxBytes) await this.flush();
  }

  async flush(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#bytes = 0;
    const { outcomes } = await this.#store.commit(batch);
    const lost = batch.find((_, position) => 'conflict' in (outcomes[position] ?? { conflict: true }));
    if (lost)
      throw new StoreError('diverged', `${lost.key} could not be created: another program writes to the database`);
    // The log of the import is deleted. No client can resume a watch from it, so it would only be a second copy of the
    // objects.
    await this.#store.compact(await this.#store.currentRevision(), this.#limits.maxOperations);
  }

  async #kindOf(key: string): Promise<number> {
    const kind = kindOfKey(key);
    if (kind === undefined) throw new Error(`${JSON.stringify(key)} is not the key of an object`);
    const name = kindNameOf(kind);
    const number = this.#kinds.get(name) ?? (await this.#store.numberOf(name));
    this.#kinds.set(name, number);
    return number;
  }
}

async function prove(
  { objects, sha256 }: ExportSummary,
  { stored, readable }: StoredForm,
  sealed: ReadonlySet<string>,
): Promise<void> {
  const digest = new ObjectsDigest();
  for await (const page of stored.scan()) {
    for (const row of page) if (!isMarker(row)) digest.add(sealed.has(row.key) ? row : readable(row));
  }
  const found = { objects: digest.objects, sha256: digest.sum() };
  if (found.objects === objects && found.sha256 === sha256) return;
  throw new StoreError(
    'diverged',
    `the database holds ${found.objects} objects, sha256 ${found.sha256}; the export has ${objects}, sha256 ${sha256}: the import remains marked as unfinished`,
  );
}
