import type { ResultRow } from './mysql-connection.ts';
import type { OpenedStore } from '../store.ts';
import { StoreError } from '../store-error.ts';

/** What a database tells of its history, all of one moment. */
export interface FoundHistory extends OpenedStore {
  /** Id of the batch that wrote the revision that was asked about; undefined where the log does not have it. */
  readonly batch: string | undefined;
  /** Schema version. */
  readonly schema: number;
}

/** The history in the response to `lookAt`. Numbers in `meta`, which has the epoch as well, are text. */
export function historyOf([revision, epoch, compactRevision, batch, schema]: ResultRow): FoundHistory {
  return {
    revision: Number(revision),
    epoch: String(epoch),
    compactRevision: Number(String(compactRevision)),
    batch: typeof batch === 'string' ? batch : undefined,
    schema: Number(schema),
  };
}

/** The latest revision that a store has written, or handed out to be kept. */
export interface KnownRevision {
  readonly epoch: string;
  readonly revision: number;
  /** Id of the batch that wrote it; undefined where nobody has seen that. */
  readonly batch: string | undefined;
}

/**
 * What a store knows of its database's history, which others write as well: it may go on, but what is known has to stay.
 * It does not when a backup is restored, or when a server forgets what it had shown already (InnoDB shows a commit before it
 * is on disk).
 */
export class KnownHistory {
  readonly #name: string;
  #last: KnownRevision = { epoch: '', revision: 0, batch: undefined };
  /** The epoch of a history that this store is about to start, or has started. */
  #ownEpoch: string | undefined;
  #diverged: StoreError | undefined;

  /** `name`: the database, as messages name it. */
  constructor(name: string) {
    this.#name = name;
  }

  get last(): KnownRevision {
    return this.#last;
  }

  /** A history whose past does not matter. */
  start({ epoch, revision }: OpenedStore): void {
    this.#last = { epoch, revision, batch: undefined };
  }

  /** Another epoch is no surprise when it is this one. */
  expect(epoch: string): void {
    this.#ownEpoch = epoch;
  }

  learn(revision: number, batch: string): void {
    if (revision > this.#last.revision) this.#last = { ...this.#last, revision, batch };
  }

  /** `known` is {@link last} of when it was asked for. Throws StoreError `diverged`, and from then on always. */
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
      'store knows: it was set back or replaced; restart the server';
    this.#diverged = new StoreError('diverged', message);
    throw this.#diverged;
  }
}
