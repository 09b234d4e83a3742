import type { ServerResponse as Outgoing } from 'node:http';
import type { PieceSource } from './answer.ts';
import type { Running } from './endpoint-owner.ts';
import type { Pieces } from '../routes/server-response.ts';

export interface AnswerStreamParts {
  readonly outgoing: Outgoing;
  readonly source: PieceSource;
  /** Aborts the request's signal. */
  readonly abort: (reason: Error) => void;
  /** Called when a piece cannot be produced or encoded. */
  readonly onError: (error: unknown) => void;
  /** Called when the stream has ended; called twice after a disconnect or a call of {@link AnswerStream.stop}. */
  readonly onEnd: () => void;
}

interface PieceReader {
  next(): Promise<{ readonly done?: boolean | undefined; readonly value?: unknown }>;
  cancel(): Promise<unknown>;
}

/**
 * Sends pieces while they are produced. It requests the next piece when the connection has accepted the previous ones,
 * so that a slow client slows the producer, and few pieces wait in memory. It ends when the producer ends or fails,
 * when the client disconnects, or when {@link stop} is called.
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

  /**
   * Sends the pieces. Resolves when the last piece has been passed to the connection, and never rejects. After a
   * disconnect or a call of {@link stop}, a ReadableStream is cancelled and the promise resolves immediately; an
   * iterator first delivers the piece that it works on, or fails.
   */
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
      // A cancelled producer may throw because of the cancellation. This error is ignored.
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

  /** Resolves when the connection accepts more data, or when the stream has ended. */
  async #drained(): Promise<void> {
    if (this.#over) return;
    await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  #fail(error: unknown): void {
    this.#cancel(error instanceof Error ? error : new Error('the response could not be produced', { cause: error }));
    this.#parts.onError(error);
    // The connection is closed, so that the client does not mistake the part for the whole response.
    this.#parts.outgoing.destroy();
  }

  #cancel(reason: Error): void {
    this.#over = true;
    this.#parts.abort(reason);
    // A producer that was cancelled may fail. This error is ignored.
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
    this.#cancel(new Error('the client has disconnected'));
    this.#finish();
  };
}

/** Cancels a producer whose pieces will not be sent, so that it releases its resources. */
export function cancelPieces(pieces: Pieces<unknown>): void {
  readerOf(pieces)
    .cancel()
    .catch(() => undefined);
}

function readerOf(pieces: Pieces<unknown>): PieceReader {
  // A reader is used, because return() of the stream's iterator would wait for the current read.
  if (pieces instanceof ReadableStream) return readableReader(pieces);
  const iterator = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]();
  return { next: async () => iterator.next(), cancel: async () => iterator.return?.() };
}

function readableReader(stream: ReadableStream<unknown>): PieceReader {
  const reader = stream.getReader();
  return { next: async () => reader.read(), cancel: async () => reader.cancel() };
}
