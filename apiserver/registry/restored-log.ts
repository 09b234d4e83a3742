import type { Change, Store } from '../store/store.ts';
import type { KindLog } from './open-resource.ts';

const changesPerPage = 2000;

/** What the log held at start, by kind, until each kind takes its part: watchers resume across a restart. */
export class RestoredLog {
  readonly #changes = new Map<number, Change[]>();
  readonly #startRevision: number;
  readonly #current: () => number;
  #floor: number;

  private constructor(floor: number, startRevision: number, current: () => number) {
    this.#floor = floor;
    this.#startRevision = startRevision;
    this.#current = current;
  }

  /** Reads the log from `floor` on. Calls `onChange` for each change, in order. */
  static async read(
    store: Store,
    range: { floor: number; revision: number; current: () => number },
    onChange: (change: Change) => void,
  ): Promise<RestoredLog> {
    const log = new RestoredLog(range.floor, range.revision, range.current);
    let after = range.floor;
    for (;;) {
      const page = await store.changes(after, changesPerPage);
      for (const change of page) {
        log.#add(change);
        onChange(change);
        after = change.revision;
      }
      if (page.length < changesPerPage) return log;
    }
  }

  /** Gives a kind its part, once; a kind that comes back later in the same process begins its history anew. */
  take(kind: number): KindLog {
    const taken = this.#changes.get(kind);
    this.#changes.set(kind, []);
    if (taken?.length === 0) return { floor: this.#current(), changes: [] };
    return { floor: this.#floor, changes: taken ?? [] };
  }

  /** Forgets changes up to a revision. */
  trim(upTo: number): void {
    this.#floor = Math.max(this.#floor, Math.min(upTo, this.#startRevision));
    for (const [kind, changes] of this.#changes) {
      const kept = changes.filter((change) => change.revision > upTo);
      if (changes.length > 0 && kept.length > 0) this.#changes.set(kind, kept);
      else if (changes.length > 0) this.#changes.delete(kind);
    }
  }

  #add(change: Change): void {
    const changes = this.#changes.get(change.kind);
    if (changes === undefined) this.#changes.set(change.kind, [change]);
    else changes.push(change);
  }
}
