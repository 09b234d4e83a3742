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
import { writeSnapshot } from './snapshot-writer.ts';

/** The time for all snapshots of a stop. Kubernetes kills a process 30 s after it has asked it to stop. */
const longestMs = 15_000;

export interface SnapshotKeeperParts {
  readonly files: SnapshotStore;
  readonly store: Pick<Store, 'uniqueIndexes'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly uuid: () => string;
  /** Names the program, as for kept records. */
  readonly program: string;
  /** True when the objects of a kind are encrypted: then it has no snapshot. */
  readonly isEncrypted: (kind: StoredKind) => boolean;
  /** Changes of a kind after this revision are known. */
  readonly floorOf: (kindNumber: number) => number;
  /** Kinds with fewer objects have no snapshot. Default 1,000, which a start reads in 20 ms without one. */
  readonly fewestObjects?: number;
}

/** A kind whose memory is written. */
export interface SnapshotKind {
  readonly kindNumber: number;
  readonly cache: KindCache;
  /** The feed's revision is that of the last change of the kind; an earlier one if there was none since the start. */
  readonly feed: { readonly revision: number };
}

/** The facts about the state in which a kind is written. */
export interface SnapshotState extends Pick<SnapshotFacts, 'kept'> {
  /** The revision of the memory. */
  readonly revision: number;
}

/** The objects and indexes of a kind at a revision. */
export interface RestoredKind {
  readonly contents: CacheContents;
  readonly mark: SnapshotMark;
  readonly facts: SnapshotFacts;
}

/** A kind that is served, and the mark of its file, if it was read from one. */
interface Followed {
  readonly cache: KindCache;
  readonly kind: NumberedKind;
  readonly mark: SnapshotMark | undefined;
}

/**
 * Writes the memory of kinds into files when a server stops, so that the next start copies it, and computes nothing. A
 * file is valid for the database that has its mark. Changes after the mark come from the log.
 */
export class SnapshotKeeper {
  readonly #parts: SnapshotKeeperParts;
  /** The kinds by their numbers. */
  readonly #followed = new Map<number, Followed>();
  /** The names of the files of kinds that were read, and the names of the files that the next start can use. */
  readonly #known = new Set<string>();
  readonly #right = new Set<string>();
  #endMs: number | undefined;

  constructor(parts: SnapshotKeeperParts) {
    this.#parts = parts;
  }

  /**
   * Reads the snapshot of a kind; undefined when there is none that can be used, for a reason that is logged. `onRead` is called with
   * numbers of objects; its error ends the work, and is thrown.
   */
  async read(
    cache: KindCache,
    kind: NumberedKind,
    { current, onRead }: { readonly current: number; readonly onRead: (objects: number) => void },
  ): Promise<RestoredKind | undefined> {
    const { files, isEncrypted } = this.#parts;
    this.#followed.delete(kind.number);
    try {
      if (!isEncrypted(kind)) return await this.#restore(cache, kind, { current, onRead });
      // The file may be from a time when the objects were not encrypted.
      await files.drop(files.nameOf(kind));
    } catch (error) {
      if (!isUnusable(error)) throw error;
      this.reject(cache, kind, error.message);
    }
    return undefined;
  }

  /** Logs why a snapshot is not used. */
  reject({ descriptor: { kind, group } }: KindCache, of: NumberedKind, reason: string): void {
    this.#known.add(this.#parts.files.nameOf(of));
    const file = this.#pathOf(of);
    const message = 'a snapshot cannot be used; the objects are read from the database';
    this.#parts.logger.info({ kind, group, file, reason }, message);
  }

  /** From now on, {@link save} writes the kind. `mark` is that of the file from which it was read. */
  follow(cache: KindCache, kind: NumberedKind, mark?: SnapshotMark): void {
    this.#known.add(this.#parts.files.nameOf(kind));
    this.#followed.set(kind.number, { cache, kind, mark });
  }

  /** Writes a kind that is not changed any more. Logs a failure. */
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
    { current, onRead }: { readonly current: number; readonly onRead: (objects: number) => void },
  ): Promise<RestoredKind | undefined> {
    const fingerprint = keptFingerprint(cache, this.#parts.program);
    if (fingerprint === undefined) return undefined;
    const file = await openIfThere(this.#pathOf(kind));
    if (file === undefined) return undefined;
    try {
      const footer = await readFooter(file);
      const mark = await this.#parts.files.readMark(kind.number);
      if (footer.nonce !== mark?.nonce) throw new UnusableSnapshot('it is not of the last stop of this database');
      if (footer.fingerprint !== fingerprint)
        throw new UnusableSnapshot('it is of other indexes, or of another version of the program');
      if (mark.revision < this.#parts.floorOf(kind.number) || mark.revision > current)
        throw new UnusableSnapshot('the changes since then are no longer known');
      const contents = await runInTurns(restoredContents(cache, await readContent(file, footer, onRead)));
      return { contents, mark, facts: footer.facts };
    } finally {
      await file.close();
    }
  }

  /** Writes the file of a kind, and returns its nonce; undefined when the kind can have no snapshot. */
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
    if (nowMs > this.#endMs) throw new Error(`it took longer than ${longestMs} ms`);
  }

  /**
   * True for a file that may be of use: one that was written or has a new mark; one of a kind that was not read,
   * because its plugin may be missing only now; and one that is no snapshot.
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

/** True for a snapshot that is wrong, and for failures of the file system. */
function isUnusable(error: unknown): error is Error {
  return error instanceof UnusableSnapshot || (error instanceof Error && 'syscall' in error);
}
