import type { PackedPage, PagedStore } from '../packed-page.ts';
import { pageOfCreations, withNotes } from './committed-pages.ts';
import type { WrittenCommit } from './merged-commits.ts';
import { frameOf } from './message-stream.ts';
import type { MessageStream } from './message-stream.ts';
import type { CommittedChanges } from './owner-messages.ts';

/**
 * The maximum number of bytes that may wait to be sent to a process. While more are waiting, no changes are sent to the
 * process; later it reads the missed changes from the database.
 */
const maxWaitingBytes = 16 * 1024 * 1024;

/** A message stream to one of the processes that use the database through its owner; it carries the changes. */
type Receiver = Pick<MessageStream, 'sendFrame' | 'waitingBytes'>;

/**
 * Packs each committed change once, and sends it to all processes. The process that made a commit receives the changes
 * of this commit as well: a later change of another process may arrive before the outcome of the commit. Without the
 * changes of its own commit, the process would then have to read them from the database. While only one process is
 * connected, nothing is sent: no other process commits, and the process knows its own changes.
 */
export class ChangeBroadcast {
  readonly #store: Pick<PagedStore, 'changePages'>;
  readonly #receivers: ReadonlySet<Receiver>;
  #revision = 0;
  #sent: Promise<void> = Promise.resolve();

  constructor(store: Pick<PagedStore, 'changePages'>, receivers: ReadonlySet<Receiver>) {
    this.#store = store;
    this.#receivers = receivers;
  }

  /** Sets the revision after which changes are sent. */
  startAfter(revision: number): void {
    this.#revision = revision;
  }

  /**
   * Called for each commit. Resolves when the changes of the commit have been written to the streams. Never rejects.
   */
  publish(commit: WrittenCommit): Promise<void> {
    const after = this.#revision;
    const { revision } = commit;
    this.#revision = revision;
    // With a single process, no change is sent, because the process knows its own changes.
    if (this.#receivers.size < 2) return this.#sent;
    // The changes are requested from the database now, so that the request does not wait until the next commit is done.
    const pages = this.#pagesOf(commit, after);
    const before = this.#sent;
    this.#sent = pages.then(
      async (packed) => before.then(() => this.#send({ after, upTo: revision, pages: packed })),
      // If the read fails, the processes that need the changes request them, and get the error then.
      async () => before,
    );
    return this.#sent;
  }

  /**
   * Returns the changes of a commit. If all of them are creations, they are taken from the commit itself. Otherwise
   * they are read from the database, because updates and deletions also need the previous states.
   */
  async #pagesOf(commit: WrittenCommit, after: number): Promise<readonly PackedPage[]> {
    const count = commit.revision - after;
    const page = pageOfCreations(commit);
    return page?.keys.length === count ? [page] : withNotes(await this.#store.changePages(after, count), commit);
  }

  #send(committed: CommittedChanges): void {
    const frame = frameOf({ committed });
    for (const receiver of this.#receivers) {
      if (receiver.waitingBytes <= maxWaitingBytes) receiver.sendFrame(frame);
    }
  }
}
