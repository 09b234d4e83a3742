import { packChanges } from '../packed-page.ts';
import type { Store } from '../store.ts';
import { frameOf } from './message-stream.ts';
import type { MessageStream } from './message-stream.ts';
import type { CommittedChanges } from './owner-messages.ts';

/** A process that has not taken so much gets no more: it reads what it has missed once it goes on. */
const maxWaitingBytes = 16 * 1024 * 1024;

/** Sends each committed change to all processes, read once and packed once for all of them. */
export class ChangeBroadcast {
  readonly #store: Pick<Store, 'changes'>;
  readonly #receivers: ReadonlySet<Pick<MessageStream, 'sendFrame' | 'waitingBytes'>>;
  #revision = 0;
  #sent: Promise<void> = Promise.resolve();

  constructor(store: Pick<Store, 'changes'>, receivers: ReadonlySet<Pick<MessageStream, 'sendFrame' | 'waitingBytes'>>) {
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
    // A single process knows its own changes.
    if (this.#receivers.size < 2) return this.#sent;
    // It is read at once, so that it does not wait for the next commit.
    const page = this.#store.changes(after, revision - after).then(packChanges);
    const before = this.#sent;
    this.#sent = page.then(
      async (found) => before.then(() => this.#send({ after, upTo: revision, page: found })),
      // The processes ask when they need a change, and get the error.
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
