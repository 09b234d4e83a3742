import { open, readdir, rmdir } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import type { CacheContents, KindCache } from '../../index/kind-cache.ts';
import { restoredContents } from '../../index/restore-cache.ts';
import type { NumberedKind, SnapshotMark, SnapshotStore, Store } from '../../store/store.ts';
import type { StoredKind } from '../../store/object-key.ts';
import { runInTurns } from '../../turns/steps.ts';
import { keptFingerprint } from './kept-fingerprint.ts';
import { UnusableSnapshot } from './snapshot-form.ts';
import type { SnapshotFacts } from './snapshot-form.ts';
import { readContent, readFooter } from './snapshot-reader.ts';
import type { OnRead } from './snapshot-reader.ts';
import { writeSnapshot } from './snapshot-writer.ts';

/**
 * The maximum time in which a server writes all snapshots when it stops. Kubernetes kills a process 30 s after the
 * signal to stop.
 */
const longestMs = 15_000;

export interface SnapshotKeeperParts {
  readonly files: SnapshotStore;
  readonly store: Pick<Store, 'uniqueIndexes'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly uuid: () => string;
  /** The name and version of the program. Snapshots of another program or version are not used. */
  readonly program: string;
  /** Returns true when the objects of a kind are encrypted. Such a kind has no snapshot. */
  readonly isEncrypted: (kind: StoredKind) => boolean;
  /** Returns the revision after which all changes of a kind are in the change log. */
  readonly floorOf: (kindNumber: number) => number;
  /**
   * A kind with fewer objects has no snapshot. Default 1,000: a start reads this many objects from the database in 20
   * ms.
   */
  readonly fewestObjects?: number;
}

/** A kind whose objects and indexes are written into a snapshot. */
export interface SnapshotKind {
  readonly kindNumber: number;
  readonly cache: KindCache;
  /**
   * `revision` is the revision of the kind's last change. If the kind's history has no change, it is the revision at
   * which this history begins.
   */
  readonly feed: { readonly revision: number };
}

/** The state of a kind when its snapshot is written. */
export interface SnapshotState extends Pick<SnapshotFacts, 'kept'> {
  /** The revision of the last change that memory has. */
  readonly revision: number;
}

/** The objects and indexes of a kind at a revision. */
export interface RestoredKind {
  readonly contents: CacheContents;
  readonly mark: SnapshotMark;
  readonly facts: SnapshotFacts;
}

/**
 * A kind that is served. `mark` is the nonce and the revision of the snapshot from which the objects of the kind were
 * read; undefined when they were read from the database.
 */
interface Followed {
  readonly cache: KindCache;
  readonly kind: NumberedKind;
  readonly mark: SnapshotMark | undefined;
}

/**
 * Writes the objects and indexes of kinds into files when a server stops, so that the next start only has to copy them
 * into memory. A file is valid only if the mark in the database has the nonce of the file. The next start reads the
 * changes after the revision of the mark from the change log.
 */
export class SnapshotKeeper {
  readonly #parts: SnapshotKeeperParts;
  /** The kinds that are served, by their numbers. */
  readonly #followed = new Map<number, Followed>();
  /** The names of the files of all kinds that this process has served. */
  readonly #known = new Set<string>();
  /** The names of the files that the next start can use. */
  readonly #right = new Set<string>();
  #endMs: number | undefined;

  constructor(parts: SnapshotKeeperParts) {
    this.#parts = parts;
  }

  /**
   * Reads the snapshot of a kind. Returns undefined when there is no snapshot, when the kind can have none, or when the
   * snapshot cannot be used; in the last case, logs the reason. An error of `onRead` ends the read, and is thrown.
   */
  async read(
    cache: KindCache,
    kind: NumberedKind,
    { current, onRead }: { readonly current: number; readonly onRead: OnRead },
  ): Promise<RestoredKind | undefined> {
    const { files, isEncrypted } = this.#parts;
    this.#followed.delete(kind.number);
    try {
      if (!isEncrypted(kind)) return await this.#restore(cache, kind, { current, onRead });
      // A file may exist from a time when the objects were not encrypted.
      await files.drop(files.nameOf(kind));
    } catch (error) {
      if (!isUnusable(error)) throw error;
      this.reject(cache, kind, error.message);
    }
    return undefined;
  }

  /** Logs the reason why a snapshot is not used. */
  reject({ descriptor: { kind, group } }: KindCache, of: NumberedKind, reason: string): void {
    this.#known.add(this.#parts.files.nameOf(of));
    const file = this.#pathOf(of);
    const message = 'a snapshot cannot be used; the objects are read from the database';
    this.#parts.logger.info({ kind, group, file, reason }, message);
  }

  /**
   * Makes {@link save} write the kind from now on. `mark` is the nonce and the revision of the snapshot from which the
   * objects of the kind were read; undefined when they were read from the database.
   */
  follow(cache: KindCache, kind: NumberedKind, mark?: SnapshotMark): void {
    this.#known.add(this.#parts.files.nameOf(kind));
    this.#followed.set(kind.number, { cache, kind, mark });
  }

  /**
   * Writes the snapshot of a kind that no longer changes, and then its mark: the database's entry with the nonce and
   * the revision of the valid snapshot. If this process read the kind from a snapshot, and the kind has not changed
   * since that snapshot, writes only the mark. Writes nothing for a kind that has few objects, an object that cannot be
   * read, encrypted objects, or an index function without a `definition`. Logs a failure.
   */
  async save(of: SnapshotKind, state: SnapshotState): Promise<void> {
    const followed = this.#followed.get(of.kindNumber);
    const { fewestObjects = 1_000, isEncrypted } = this.#parts;
    if (followed?.cache !== of.cache || of.cache.size < fewestObjects || of.cache.broken.size > 0) return;
    const { kind, mark } = followed;
    if (isEncrypted(kind)) return;
    try {
      const isChanged = mark === undefined || of.feed.revision > mark.revision;
      const nonce = isChanged ? await this.#write(followed, state) : mark.nonce;
      if (nonce === undefined) return;
      await this.#parts.files.writeMark(kind.number, { nonce, revision: state.revision });
      this.#right.add(this.#parts.files.nameOf(kind));
    } catch (err) {
      const file = this.#pathOf(kind);
      this.#parts.logger.warn({ err, file }, 'a snapshot could not be written; the next start reads the database');
    }
  }

  /** Deletes the files that no start can use. Logs a failure. */
  async clean(): Promise<void> {
    const { files, logger } = this.#parts;
    try {
      let kept = 0;
      for (const name of await readdir(files.folder)) {
        if (await this.#isOfUse(name)) kept += 1;
        else await files.drop(name);
      }
      if (kept === 0) await rmdir(files.folder);
    } catch (err) {
      if (!isAbsent(err)) logger.warn({ err, folder: files.folder }, 'old snapshots could not be deleted');
    }
  }

  async #restore(
    cache: KindCache,
    kind: NumberedKind,
    { current, onRead }: { readonly current: number; readonly onRead: OnRead },
  ): Promise<RestoredKind | undefined> {
    const fingerprint = keptFingerprint(cache, this.#parts.program);
    if (fingerprint === undefined) return undefined;
    const file = await openIfThere(this.#pathOf(kind));
    if (file === undefined) return undefined;
    try {
      const footer = await readFooter(file);
      const mark = await this.#parts.files.readMark(kind.number);
      if (footer.nonce !== mark?.nonce)
        throw new UnusableSnapshot('the snapshot belongs to another database, or to another state of this database');
      if (footer.fingerprint !== fingerprint)
        throw new UnusableSnapshot('the snapshot was written for other indexes, or by another version of the program');
      if (mark.revision < this.#parts.floorOf(kind.number) || mark.revision > current)
        throw new UnusableSnapshot('the database lacks the changes after the snapshot, or is older than the snapshot');
      const contents = await runInTurns(restoredContents(cache, await readContent(file, footer, onRead)));
      return { contents, mark, facts: footer.facts };
    } finally {
      await file.close();
    }
  }

  /**
   * Writes the file of a kind, and returns its nonce. Returns undefined when an index function of the kind has no
   * `definition`, because such a kind can have no snapshot.
   */
  async #write({ cache, kind }: Followed, { kept }: SnapshotState): Promise<string | undefined> {
    const { store, uuid, program } = this.#parts;
    const fingerprint = keptFingerprint(cache, program);
    if (fingerprint === undefined) return undefined;
    const nonce = uuid();
    const { generation } = await store.uniqueIndexes(kind.number);
    const facts = { kept, generation };
    await writeSnapshot(this.#pathOf(kind), { cache, nonce, fingerprint, facts, check: () => this.#checkTime() });
    return nonce;
  }

  #checkTime(): void {
    const nowMs = this.#parts.clock.monotonicMs();
    this.#endMs ??= nowMs + longestMs;
    if (nowMs > this.#endMs) throw new Error(`writing the snapshots took longer than ${longestMs} ms`);
  }

  /**
   * Returns true for a file that must stay: a snapshot that the next start can use; a usable snapshot of a kind that
   * this process did not serve, because the plugin of the kind may be missing only temporarily; and a file that is not
   * a snapshot.
   */
  async #isOfUse(name: string): Promise<boolean> {
    if (this.#right.has(name) || this.#known.has(name)) return this.#right.has(name);
    const kindNumber = Number.parseInt(name, 10);
    if (!Number.isSafeInteger(kindNumber)) return true;
    const mark = await this.#parts.files.readMark(kindNumber);
    return mark !== undefined && mark.revision >= this.#parts.floorOf(kindNumber);
  }

  #pathOf(kind: NumberedKind): string {
    const { files } = this.#parts;
    return join(files.folder, files.nameOf(kind));
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** Returns true for an unusable snapshot, and for errors of the file system. */
function isUnusable(error: unknown): error is Error {
  return error instanceof UnusableSnapshot || (error instanceof Error && 'syscall' in error);
}
