import { Readable } from 'node:stream';
import type { JsonRewriter } from './json-rewriter.ts';

/**
 * The size of one piece of a large response. If a client does not read its response, about three pieces are in memory.
 */
export const pieceBytes: number = 256 * 1024;

/**
 * The maximum size of a response that is sent as a whole, which takes half the time of a stream. `AnswerMemory` counts
 * the bytes of such a response.
 */
export const wholeBytes: number = 1024 * 1024;

/**
 * The number of pieces that are produced in one turn of the event loop when they are copies of stored bytes. To wait
 * for the next turn takes 10 µs, and to copy a piece 30 µs.
 */
export const copiesPerTurn = 4;

/** The pieces of a response. A piece that is not ready immediately is a promise. */
export type EncodedPieces = Iterator<Buffer | Promise<Buffer>, void>;

/**
 * A body that is produced while the client reads it: the next piece is produced once the connection has accepted the
 * previous one. If the iterator throws, the connection is closed, since the headers have already been sent.
 */
export class PieceStream extends Readable {
  readonly #pieces: EncodedPieces;
  readonly #perTurn: number;
  #made = 0;

  /** Creates the body. `perTurn` is the number of pieces that may be produced in one turn of the event loop. */
  constructor(pieces: EncodedPieces, perTurn: number = 1) {
    super({ highWaterMark: pieceBytes });
    this.#pieces = pieces;
    this.#perTurn = perTurn;
  }

  /** Returns a stream of this stream's pieces, rewritten. After this call, this stream must not be read. */
  rewritten(rewriter: JsonRewriter): PieceStream {
    return new PieceStream(rewrittenPieces(this.#pieces, rewriter));
  }

  override _read(): void {
    this.#made += 1;
    if (this.#made % this.#perTurn === 0) setImmediate(() => this.#push());
    else this.#push();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#pieces.return?.();
    callback(error);
  }

  #push(): void {
    if (this.destroyed) return;
    try {
      const { done, value } = this.#pieces.next();
      if (value instanceof Promise)
        value.then((bytes) => this.push(bytes)).catch((error: unknown) => this.#fail(error));
      else this.push(done === true ? null : value);
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.destroy(error instanceof Error ? error : new Error('the response could not be produced', { cause: error }));
  }
}

function* rewrittenPieces(pieces: EncodedPieces, rewriter: JsonRewriter): Generator<Buffer | Promise<Buffer>, void> {
  try {
    for (;;) {
      const { done, value } = pieces.next();
      if (done === true) break;
      if (value instanceof Promise) yield value.then((piece) => Buffer.concat([...rewriter.push(piece)]));
      else yield* rewriter.push(value);
    }
    yield* rewriter.end();
  } finally {
    pieces.return?.();
  }
}

/** Yields bytes in pieces, without copying them. */
export function* cutIntoPieces(bytes: Buffer): Generator<Buffer, void> {
  for (let start = 0; start < bytes.length; start += pieceBytes) yield bytes.subarray(start, start + pieceBytes);
}
