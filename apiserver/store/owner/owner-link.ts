import type { Duplex } from 'node:stream';
import { StoreError } from '../store-error.ts';
import { CompactedError } from '../store.ts';
import { MessageStream } from './message-stream.ts';
import type { CommittedChanges, OwnerCalls, OwnerReply } from './owner-messages.ts';

interface Waiter {
  readonly resolve: (answer: never) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Sends calls to the owner of a database. When the stream to the owner ends, all pending and later calls reject with
 * StoreError `crashed`.
 */
export class OwnerLink {
  readonly #messages: MessageStream;
  readonly #onCommitted: (committed: CommittedChanges) => void;
  readonly #waiting = new Map<number, Waiter>();
  #lastId = 0;
  #ended: StoreError | undefined;
  #onIdle: () => void = () => undefined;

  constructor(stream: Duplex, onCommitted: (committed: CommittedChanges) => void) {
    this.#onCommitted = onCommitted;
    this.#messages = new MessageStream(stream, {
      onMessage: (message) => this.#receive(message as OwnerReply),
      onClose: (error) => this.#end(error),
    });
  }

  call<Type extends keyof OwnerCalls>(
    type: Type,
    request: OwnerCalls[Type]['request'],
  ): Promise<OwnerCalls[Type]['answer']> {
    if (this.#ended) return Promise.reject(this.#ended);
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#messages.send({ id, type, request });
    });
  }

  /** Closes the stream after the responses to all pending calls. Resolves when the stream is closed. */
  async close(): Promise<void> {
    if (this.#waiting.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    await this.#messages.close();
  }

  #receive(reply: OwnerReply): void {
    if ('committed' in reply) return this.#onCommitted(reply.committed);
    const waiter = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ('answer' in reply) waiter?.resolve(reply.answer as never);
    else if ('compacted' in reply) waiter?.reject(new CompactedError(reply.compacted));
    else waiter?.reject(new StoreError(reply.failure.code, reply.failure.message));
    if (this.#waiting.size === 0) this.#onIdle();
  }

  #end(cause: Error | undefined): void {
    this.#ended ??= new StoreError('crashed', 'the process that has the database open has ended', { cause });
    for (const waiter of this.#waiting.values()) waiter.reject(this.#ended);
    this.#waiting.clear();
    this.#onIdle();
  }
}
