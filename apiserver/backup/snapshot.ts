import { compareCodePoints } from '@homeostat/controller-runtime/api';
import type { Row, Store } from '../store/store.ts';

/**
 * The maximum number of bytes of former states that a snapshot keeps in memory. It keeps the former state of an object
 * that changes before the snapshot has read it.
 */
const maxRememberedBytes = 256 * 1024 * 1024;

const changesPerPage = 1000;

/**
 * All objects of a store at one revision, while writes continue. Nothing is locked: the objects are read in pages, and
 * the log has the former state of each object that has changed since the revision. Memory contains one page, and the
 * former states of those changed objects that are on later pages.
 */
export class Snapshot {
  readonly revision: number;
  readonly #store: Store;
  /** The revision up to which changes have been read. */
  #followed: number;
  /** The key of the last object that was yielded. */
  #passed = '';
  /**
   * For each object that has changed since the snapshot's revision and is not yielded yet: its state at that revision,
   * by its key. The state is undefined for an object that did not exist at that revision.
   */
  readonly #past = new Map<string, Row | undefined>();
  #pastBytes = 0;

  private constructor(store: Store, revision: number) {
    this.#store = store;
    this.revision = revision;
    this.#followed = revision;
  }

  /** Begins a snapshot at the current revision. It contains every write that was acknowledged before the call. */
  static async of(store: Store): Promise<Snapshot> {
    return new Snapshot(store, await store.currentRevision());
  }

  /**
   * Yields the rows in pages, in the order of the code points of their keys. It can be called once. Rejects with
   * CompactedError when the log is compacted faster than the pages are read, and with Error when the snapshot would
   * have to keep more than 256 MiB of former states.
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

  /**
   * Reads the changes up to the current revision. For each changed object that is not yielded yet, it remembers the
   * state at the snapshot's revision. Called after each page is read, because the page may contain newer states.
   */
  async #follow(): Promise<void> {
    const target = await this.#store.currentRevision();
    while (this.#followed < target) {
      const changes = await this.#store.changes(this.#followed, changesPerPage);
      for (const { key, previous } of changes) {
        if (this.#past.has(key) || compareCodePoints(key, this.#passed) <= 0) continue;
        // The bytes are copied: they are a view of a page, and keeping the view would keep the whole page in memory.
        this.#remember(key, previous && { key, revision: previous.revision, data: previous.data.slice() });
      }
      this.#followed = changes.at(-1)?.revision ?? target;
    }
  }

  #remember(key: string, row: Row | undefined): void {
    this.#past.set(key, row);
    this.#pastBytes += row?.data.byteLength ?? 0;
    if (this.#pastBytes > maxRememberedBytes) {
      throw new Error(`more than ${maxRememberedBytes / 2 ** 20} MiB of objects changed while the snapshot read them`);
    }
  }

  /**
   * Returns the rows of a page in their state at the snapshot's revision, with the rows up to the key `last` that were
   * deleted since that revision. `last` is the last key of the page. A final call, with an empty page and without
   * `last`, returns all deleted rows that no earlier call has returned.
   */
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
