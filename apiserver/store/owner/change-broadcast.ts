import type { PackedPage, PagedStore } from '../packed-page.ts';
import { pageOfCreations, withNotes } from './committed-pages.ts';
import type { WrittenCommit } from './merged-commits.ts';
import { frameOf } from './message-stream.ts';
import type { MessageStream } from './message-stream.ts';
import type { CommittedChanges } from './owner-messages.ts';

/**
 * While this many bytes wait for a process, no changes are sent to it: later it reads the missed ones from the
 * database.
 */
const maxWaitingBytes = 16 * 1024 * 1024;

/** The stream of a process. */
type Receiver = Pick<MessageStream, 'sendFrame' | 'waitingBytes'>;

/**
 * Sends each committed change to all processes, packed once for all of them. The writer gets its own as well: it may have to
 * follow them before the outcome of its commit arrives, and would otherwise read them from the database.
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

  /** Sets the revision from which on changes are sent. */
  startAfter(revision: number): void {
    this.#revision = revision;
  }

  /** Called for each commit. Resolves when its changes are on their way. Never rejects. */
  publish(commit: WrittenCommit): Promise<void> {
    const after = this.#revision;
    const { revision } = commit;
    this.#revision = revision;
    // With a single process, no change has to be sent: the process knows its own.
    if (this.#receivers.size < 2) return this.#sent;
    // The changes are read at once, so that this read does not wait for the next commit.
    const pages = this.#pagesOf(commit, after);
    const before = this.#sent;
    this.#sent = pages.then(
      async (packed) => before.then(() => this.#send({ after, upTo: revision, pages: packed })),
      // If the read fails, the processes that need the changes ask for them, and get the error then.
      async () => before,
    );
    return this.#sent;
  }

  /**
   * Returns the changes of a commit. Only creations need not be read: the states before other changes are in the
   * database.
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
