import { Readable } from 'node:stream';
import type { JsonRewriter } from './json-rewriter.ts';

/**
 * Size of one piece of a large response. A response that its client does not read keeps about three pieces in memory.
 */
export const pieceBytes: number = 256 * 1024;

/** A response up to this size is sent whole, which costs half as much as a stream; it counts in the memory of responses. */
export const wholeBytes: number = 1024 * 1024;

/**
 * The number of pieces that are made in one turn of the event loop when they are copies of stored bytes: a turn costs
 * 10 µs, and copying a piece 30 µs.
 */
export const copiesPerTurn = 4;

/** Pieces of a response; a piece that is not ready at once is a promise. */
export type EncodedPieces = Iterator<Buffer | Promise<Buffer>, void>;

/**
 * A body that is made while the client reads it: the next piece is made once the connection has taken the last one. An
 * iterator that throws cuts the connection, since the headers have already been sent.
 */
export class PieceStream extends Readable {
  readonly #pieces: EncodedPieces;
  readonly #perTurn: number;
  #made = 0;

  /** `perTurn`: how many pieces may be made in one turn of the event loop. */
  constructor(pieces: EncodedPieces, perTurn: number = 1) {
    super({ highWaterMark: pieceBytes });
    this.#pieces = pieces;
    this.#perTurn = perTurn;
  }

  /** Returns a stream of this stream's pieces, rewritten. This stream must not be read any more. */
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
    this.destroy(error instanceof Error ? error : new Error('a piece could not be made', { cause: error }));
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
