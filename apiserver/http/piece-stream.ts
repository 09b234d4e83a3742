import { Readable } from 'node:stream';

/** Size of one piece of a large answer. An answer that its client does not read keeps about three of them in memory. */
export const pieceBytes: number = 256 * 1024;

/** An answer up to this size is sent whole, which takes half of the work; it counts in the memory of answers. */
export const wholeBytes: number = 1024 * 1024;

/** Pieces that are made in one turn of the event loop: a turn costs 10 µs, and copying a piece 30. */
const piecesPerTurn = 4;

/**
 * A body that is made while the client reads it: the next piece is made when the connection has taken the one before. An
 * iterator that throws cuts the connection, since the head has been sent.
 */
export class PieceStream extends Readable {
  readonly #pieces: Iterator<Buffer, void>;
  #made = 0;

  constructor(pieces: Iterator<Buffer, void>) {
    super({ highWaterMark: pieceBytes });
    this.#pieces = pieces;
  }

  override _read(): void {
    this.#made += 1;
    if (this.#made % piecesPerTurn === 0) setImmediate(() => this.#push());
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
      this.push(done === true ? null : value);
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error('a piece could not be made', { cause: error }));
    }
  }
}

/** The same bytes in pieces, without a copy. */
export function* cutIntoPieces(bytes: Buffer): Generator<Buffer, void> {
  for (let start = 0; start < bytes.length; start += pieceBytes) yield bytes.subarray(start, start + pieceBytes);
}
