import type { OpenedStore } from '../store.ts';
import { StoreError } from '../store-error.ts';

/** The history of a database at one moment. */
export interface FoundHistory extends OpenedStore {
  /** The id of the batch that wrote the requested revision; undefined when it is not in the log. */
  readonly batch: string | undefined;
}

/** The latest revision that a store has written, or has returned to its caller. */
export interface KnownRevision {
  readonly epoch: string;
  readonly revision: number;
  /** The id of the batch that wrote it; undefined when it is unknown. */
  readonly batch: string | undefined;
}

/**
 * The known part of a database's history. Other writers may extend the history, but must not change this part. That
 * happens when a backup is restored, or when a server loses a commit that it had already shown (InnoDB shows
 * a commit before it is on disk).
 */
export class KnownHistory {
  readonly #name: string;
  #last: KnownRevision = { epoch: '', revision: 0, batch: undefined };
  /** The epoch of a history that this store is about to start, or has started. */
  #ownEpoch: string | undefined;
  #diverged: StoreError | undefined;

  /** `name`: the database's name in messages. */
  constructor(name: string) {
    this.#name = name;
  }

  get last(): KnownRevision {
    return this.#last;
  }

  /** Starts with a history whose past does not matter. */
  start({ epoch, revision }: OpenedStore): void {
    this.#last = { epoch, revision, batch: undefined };
  }

  /** Announces an epoch, so that its appearance does not count as a divergence. */
  expect(epoch: string): void {
    this.#ownEpoch = epoch;
  }

  learn(revision: number, batch: string): void {
    if (revision > this.#last.revision) this.#last = { ...this.#last, revision, batch };
  }

  /**
   * `known` is the value of {@link last} at the time of the query. Throws StoreError `diverged`, and from then on
   * always.
   */
  check(found: FoundHistory, known: KnownRevision): void {
    if (this.#diverged) throw this.#diverged;
    if (found.epoch !== known.epoch && found.epoch === this.#ownEpoch) {
      this.start(found);
      return;
    }
    const isCompacted = found.compactRevision >= known.revision;
    const isOther = known.batch !== undefined && !isCompacted && found.batch !== known.batch;
    if (found.epoch === known.epoch && found.revision >= known.revision && !isOther) return;
    const message =
      `${this.#name} is at revision ${found.revision}, and no longer has the history up to ${known.revision} that this ` +
      'store knows: it was restored or replaced; restart the server';
    this.#diverged = new StoreError('diverged', message);
    throw this.#diverged;
  }
}
