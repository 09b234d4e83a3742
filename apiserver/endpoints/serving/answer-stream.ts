import type { ServerResponse as Outgoing } from 'node:http';
import type { PieceSource } from './answer.ts';
import type { Running } from './endpoint-owner.ts';
import type { Pieces } from '../routes/server-response.ts';

export interface AnswerStreamParts {
  readonly outgoing: Outgoing;
  readonly source: PieceSource;
  /** Aborts the request's signal. */
  readonly abort: (reason: Error) => void;
  /** Called when the producer fails after the head was sent. */
  readonly onError: (error: unknown) => void;
  /** Called once when the stream is over. */
  readonly onEnd: () => void;
}

interface PieceReader {
  next(): Promise<{ readonly done?: boolean | undefined; readonly value?: unknown }>;
  cancel(): Promise<unknown>;
}

/**
 * Sends pieces while they are produced. It requests the next piece when the connection has taken those before, so that a slow
 * reader slows the producer and nothing piles up. Ends with the producer, the client or {@link stop}, whichever is first.
 */
export class AnswerStream implements Running {
  readonly #parts: AnswerStreamParts;
  readonly #reader: PieceReader;
  #over = false;
  #wake: (() => void) | undefined;

  constructor(parts: AnswerStreamParts) {
    this.#parts = parts;
    this.#reader = readerOf(parts.source.pieces);
  }

  /** Resolves when the last piece has been handed to the connection, or the stream has been cancelled. Never rejects. */
  async run(): Promise<void> {
    const { outgoing } = this.#parts;
    outgoing.on('drain', this.#onDrain);
    outgoing.on('close', this.#onClose);
    try {
      outgoing.flushHeaders();
      if (outgoing.destroyed) this.#onClose();
      await this.#copy();
      if (!this.#over) outgoing.end();
    } catch (error) {
      // A producer that was cancelled may throw an error because of the cancellation, which is ignored.
      if (!this.#over) this.#fail(error);
    }
    this.#finish();
  }

  stop(reason: Error): void {
    if (this.#over) return;
    this.#cancel(reason);
    if (this.#parts.source.mayEndEarly) this.#parts.outgoing.end();
    else this.#parts.outgoing.destroy();
    this.#finish();
  }

  async #copy(): Promise<void> {
    const { outgoing, source } = this.#parts;
    while (!this.#over) {
      const { done, value } = await this.#reader.next();
      if (done === true || this.#over) return;
      if (!outgoing.write(source.encode(value))) await this.#drained();
    }
  }

  /** Resolves when the connection takes more data, or the stream is over. */
  async #drained(): Promise<void> {
    if (this.#over) return;
    await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  #fail(error: unknown): void {
    this.#cancel(error instanceof Error ? error : new Error('the response could not be produced', { cause: error }));
    this.#parts.onError(error);
    // The connection is cut off, so that the client does not take a part for the whole.
    this.#parts.outgoing.destroy();
  }

  #cancel(reason: Error): void {
    this.#over = true;
    this.#parts.abort(reason);
    // A producer that was cancelled may fail; nothing uses that error.
    this.#reader.cancel().catch(() => undefined);
    this.#onDrain();
  }

  #finish(): void {
    const { outgoing, onEnd } = this.#parts;
    outgoing.off('drain', this.#onDrain);
    outgoing.off('close', this.#onClose);
    onEnd();
  }

  readonly #onDrain = (): void => {
    this.#wake?.();
    this.#wake = undefined;
  };

  readonly #onClose = (): void => {
    if (this.#over || this.#parts.outgoing.writableFinished) return;
    this.#cancel(new Error('the client has gone'));
    this.#finish();
  };
}

/** Releases the pieces that were not sent. */
export function cancelPieces(pieces: Pieces<unknown>): void {
  readerOf(pieces)
    .cancel()
    .catch(() => undefined);
}

function readerOf(pieces: Pieces<unknown>): PieceReader {
  // A reader is used, because return() of the stream's iterator would wait for the read that is under way.
  if (pieces instanceof ReadableStream) return readableReader(pieces);
  const iterator = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]();
  return { next: async () => iterator.next(), cancel: async () => iterator.return?.() };
}

function readableReader(stream: ReadableStream<unknown>): PieceReader {
  const reader = stream.getReader();
  return { next: async () => reader.read(), cancel: async () => reader.cancel() };
}
