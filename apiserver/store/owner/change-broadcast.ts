import type { PagedStore } from '../packed-page.ts';
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

/** Sends each committed change to all processes, read once and packed once for all of them. */
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

  /** Called with the last revision of each commit. Resolves when the changes up to there are on their way. Never rejects. */
  publish(revision: number): Promise<void> {
    const after = this.#revision;
    this.#revision = revision;
    // With a single process, no change has to be sent: the process knows its own.
    if (this.#receivers.size < 2) return this.#sent;
    // The changes are read at once, so that this read does not wait for the next commit.
    const read = this.#store.changePages(after, revision - after);
    const before = this.#sent;
    this.#sent = read.then(
      async (pages) => before.then(() => this.#send({ after, upTo: revision, pages })),
      // Processes that need a change ask for it themselves, and get the error then.
      async () => before,
    );
    return this.#sent;
  }

  #send(committed: CommittedChanges): void {
    const frame = frameOf({ committed });
    for (const receiver of this.#receivers) {
      if (receiver.waitingBytes <= maxWaitingBytes) receiver.sendFrame(frame);
    }
  }
}
