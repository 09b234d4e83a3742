import { compareCodePoints } from '@homeostat/controller-runtime/api';
import type { Row, Store } from '../store/store.ts';

/** Bytes of objects that are remembered because they changed before the snapshot came to them. */
const maxRememberedBytes = 256 * 1024 * 1024;

const changesPerPage = 1000;

/**
 * All objects of a store as they were at one revision, while writes go on. Nothing is held still: the objects are read
 * in pages, and of each that has changed since the revision, the log knows what it was before. So what is kept in memory
 * is a page, and the former state of what changed meanwhile and is yet to come.
 */
export class Snapshot {
  readonly revision: number;
  readonly #store: Store;
  /** Changes up to here have been read. */
  #followed: number;
  /** The key of the last object given out. */
  #passed = '';
  /** By key, what was there at the revision, of all that changed after it. */
  readonly #past = new Map<string, Row | undefined>();
  #pastBytes = 0;

  private constructor(store: Store, revision: number) {
    this.#store = store;
    this.revision = revision;
    this.#followed = revision;
  }

  /** Begins a snapshot of the present: it holds every write that was acknowledged before the call. */
  static async of(store: Store): Promise<Snapshot> {
    return new Snapshot(store, await store.currentRevision());
  }

  /**
   * The rows, in pages, by key in the order of code points; once. Rejects with CompactedError when the log is compacted
   * faster than the pages are taken, and when more changed meanwhile than can be remembered (256 MiB).
   */
  async *pages(): AsyncGenerator<readonly Row[], void, undefined> {
    for await (const page of this.#store.scan()) {
      await this.#follow();
      const last = page.at(-1)?.key;
      if (last === undefined) continue;
      yield this.#restored(page, last);
      this.#passed = last;
    }
    await this.#follow();
    yield this.#restored([]);
  }

  /** Reads all changes that the page read last may show. */
  async #follow(): Promise<void> {
    const target = await this.#store.currentRevision();
    while (this.#followed < target) {
      const changes = await this.#store.changes(this.#followed, changesPerPage);
      for (const { key, previous } of changes) {
        if (this.#past.has(key) || compareCodePoints(key, this.#passed) <= 0) continue;
        // A copy: the bytes are a view of a page, which would stay in memory with it.
        this.#remember(key, previous && { key, revision: previous.revision, data: previous.data.slice() });
      }
      this.#followed = changes.at(-1)?.revision ?? target;
    }
  }

  #remember(key: string, row: Row | undefined): void {
    this.#past.set(key, row);
    this.#pastBytes += row?.data.byteLength ?? 0;
    if (this.#pastBytes > maxRememberedBytes) {
      throw new Error(`more than ${maxRememberedBytes / 2 ** 20} MiB of objects changed while they were read`);
    }
  }

  /** The rows of a page as they were; `last` is its last key, and without one it is the rest of all keys. */
  #restored(page: readonly Row[], last?: string): readonly Row[] {
    const rows = page.filter(({ key }) => !this.#past.has(key));
    const unchanged = rows.length;
    for (const [key, row] of this.#past) {
      if (last !== undefined && compareCodePoints(key, last) > 0) continue;
      this.#past.delete(key);
      this.#pastBytes -= row?.data.byteLength ?? 0;
      if (row !== undefined) rows.push(row);
    }
    return rows.length === unchanged ? rows : rows.sort((a, b) => compareCodePoints(a.key, b.key));
  }
}
