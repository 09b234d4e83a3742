import type { OpenedStore } from '../store.ts';
import { StoreError } from '../store-error.ts';

/** The state of a database's history at the time of a query. */
export interface FoundHistory extends OpenedStore {
  /** The id of the batch that wrote the requested revision; undefined when this revision is not in the log. */
  readonly batch: string | undefined;
}

/** The latest revision that a store has written, or has returned to its caller. */
export interface KnownRevision {
  readonly epoch: string;
  readonly revision: number;
  /** The id of the batch that wrote the revision; undefined when it is unknown. */
  readonly batch: string | undefined;
}

/**
 * The part of a database's history that a store knows. Other writers may extend the history, but must not change this
 * part. The part changes only when a backup is restored, or when a server loses a commit that clients have already
 * read. MySQL can lose such a commit, because InnoDB lets clients read a commit before it is on the disk.
 */
export class KnownHistory {
  readonly #name: string;
  #last: KnownRevision = { epoch: '', revision: 0, batch: undefined };
  /** The epoch of a history that this store has started, or is about to start. */
  #ownEpoch: string | undefined;
  #diverged: StoreError | undefined;

  /** `name` is the name of the database, for messages. */
  constructor(name: string) {
    this.#name = name;
  }

  get last(): KnownRevision {
    return this.#last;
  }

  /**
   * Records that the store knows a history up to its last revision. The id of the batch that wrote this revision is
   * unknown.
   */
  start({ epoch, revision }: OpenedStore): void {
    this.#last = { epoch, revision, batch: undefined };
  }

  /** Announces an epoch that this store is about to start, so that the new epoch does not count as a divergence. */
  expect(epoch: string): void {
    this.#ownEpoch = epoch;
  }

  learn(revision: number, batch: string): void {
    if (revision > this.#last.revision) this.#last = { ...this.#last, revision, batch };
  }

  /**
   * Checks that the history that was found contains the history up to `known`, the value of {@link last} at the time of
   * the query. Throws StoreError `diverged` if it does not; after that, every call throws this error. A history with an
   * epoch that {@link expect} has announced is accepted and becomes the known one.
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
