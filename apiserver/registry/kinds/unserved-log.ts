import { CompactedError } from '../../store/store.ts';
import type { Change, Store } from '../../store/store.ts';

/**
 * The number of changes in the first page that is read. After a page with more than half of {@link maxPageBytes}, the
 * next page has half as many changes as that page. Otherwise it has twice as many, up to {@link maxPage}.
 */
const firstPage = 16;
const maxPage = 2000;
const maxPageBytes = 4 * 1024 * 1024;

/** The logged changes of one kind. */
export interface KindLog {
  /** Changes up to this revision are no longer available. */
  readonly floor: number;
  readonly changes: readonly Change[];
}

/** The revision at which a kind began to open, and whether changes after this revision were lost. */
export interface OpeningPlace {
  /** The newest revision that the server's memory had reached when the kind began to open. */
  readonly revision: number;
  /**
   * Returns true when changes after {@link revision} were dropped from memory or compacted. Then the opening of the
   * kind has to start again.
   */
  readonly isLost: () => boolean;
}

/**
 * The changes of kinds that are not served yet. When a kind begins to be served, its changes are removed from this log.
 * At the start, the changes come from the change log, so that watches can resume after a restart. Later, they come from
 * other processes that already serve the kind.
 */
export class UnservedLog {
  readonly #changes = new Map<number, Change[]>();
  /** For each kind whose history starts after {@link #floor}: the revision at which it starts. */
  readonly #floors = new Map<number, number>();
  /**
   * The kinds whose changes {@link take} has removed. When such a kind is opened again, its history starts at the
   * newest revision that memory has reached when the kind is opened.
   */
  readonly #taken = new Set<number>();
  readonly #kinds = new Set<number>();
  #floor: number;
  #revision: number;
  #losses = 0;
  readonly #hidden: number | undefined;

  /**
   * The log has the changes after the revision `floor`. `hidden` is the number that identifies a kind which
   * is never served; the log does not keep the changes of this kind.
   */
  constructor(floor: number, hidden?: number) {
    this.#hidden = hidden;
    this.#floor = floor;
    this.#revision = floor;
  }

  /**
   * Reads the changes in the store's change log after the revision `floor` that the constructor got. When the store has
   * compacted some of them, reads only the later ones. Calls `onChange` for each change, in order.
   */
  async read(store: Store, onChange: (change: Change) => void): Promise<void> {
    for (let size = firstPage; ;) {
      const page = await this.#readPage(store, size);
      let bytes = 0;
      for (const change of page) {
        this.add(change);
        onChange(change);
        bytes += change.data.length;
      }
      if (page.length < size) return;
      size = bytes * 2 > maxPageBytes ? Math.ceil(size / 2) : Math.min(size * 2, maxPage);
    }
  }

  /** The revision of the last change that was added; if none was added, the revision after which this log begins. */
  get revision(): number {
    return this.#revision;
  }

  /** The numbers that identify the kinds which changed while they were not served. */
  get kinds(): ReadonlySet<number> {
    return this.#kinds;
  }

  /**
   * The number of times that this log lost changes. The lost changes may be of kinds that {@link kinds} does not
   * contain.
   */
  get losses(): number {
    return this.#losses;
  }

  /** Keeps a change of a kind that is not served. */
  add(change: Change): void {
    this.#revision = change.revision;
    if (change.kind === this.#hidden) return;
    this.#kinds.add(change.kind);
    const changes = this.#changes.get(change.kind);
    if (changes === undefined) this.#changes.set(change.kind, [change]);
    else changes.push(change);
  }

  /** Called before a kind is read: the log keeps the kind's changes after `revision`. */
  begin(kind: number, revision: number): OpeningPlace {
    if (this.#taken.has(kind)) {
      this.#floors.set(kind, revision);
      this.#changes.delete(kind);
    }
    const losses = this.#losses;
    const isTrimmed = (): boolean => (this.#floors.get(kind) ?? 0) > revision;
    return { revision, isLost: () => this.#losses !== losses || isTrimmed() };
  }

  /** Returns the revision after which this log has all changes of a kind. The kind must not be served. */
  floorOf(kind: number): number {
    return Math.max(this.#floor, this.#floors.get(kind) ?? 0);
  }

  /** Returns the changes of a kind after a revision. */
  since(kind: number, revision: number): readonly Change[] {
    return (this.#changes.get(kind) ?? []).filter((change) => change.revision > revision);
  }

  /** Removes the changes of a kind from this log, and returns them. From then on, the kind keeps its changes itself. */
  take(kind: number): KindLog {
    const changes = this.#changes.get(kind) ?? [];
    this.#changes.delete(kind);
    this.#taken.add(kind);
    return { floor: this.floorOf(kind), changes };
  }

  /** Drops the changes up to a revision from memory. */
  trim(upTo: number): void {
    for (const [kind, changes] of this.#changes) {
      const kept = changes.filter((change) => change.revision > upTo);
      const gone = changes[changes.length - kept.length - 1];
      if (gone !== undefined) this.#floors.set(kind, gone.revision);
      if (kept.length > 0) this.#changes.set(kind, kept);
      else this.#changes.delete(kind);
    }
  }

  async #readPage(store: Store, size: number): Promise<readonly Change[]> {
    try {
      return await store.changes(this.#revision, size);
    } catch (error) {
      if (!(error instanceof CompactedError)) throw error;
      // Another process has compacted these changes meanwhile.
      this.lose(error.compactRevision);
      return this.#readPage(store, size);
    }
  }

  /** Records that the changes up to a revision were lost: history now starts at this revision. */
  lose(revision: number): void {
    this.#losses += 1;
    this.#changes.clear();
    this.#floor = revision;
    this.#revision = revision;
  }
}
