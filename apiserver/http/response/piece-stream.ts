import { Readable } from 'node:stream';

/** Size of one piece of a large answer. An answer that its client does not read keeps about three of them in memory. */
export const pieceBytes: number = 256 * 1024;

/** An answer up to this size is sent whole, which takes half of the work; it counts in the memory of answers. */
export const wholeBytes: number = 1024 * 1024;

/** Pieces that are made in one turn of the event loop where they are copies: a turn costs 10 µs, and copying a piece 30. */
export const copiesPerTurn = 4;

/** Pieces of an answer; one that takes longer comes as a promise. */
export type Pieces = Iterator<Buffer | Promise<Buffer>, void>;

/**
 * A body that is made while the client reads it: the next piece is made when the connection has taken the one before. An
 * iterator that throws cuts the connection, since the head has been sent.
 */
export class PieceStream extends Readable {
  readonly #pieces: Pieces;
  readonly #perTurn: number;
  #made = 0;

  /** `perTurn`: how many pieces may be made in one turn of the event loop. */
  constructor(pieces: Pieces, perTurn: number = 1) {
    super({ highWaterMark: pieceBytes });
    this.#pieces = pieces;
    this.#perTurn = perTurn;
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

/** The same bytes in pieces, without a copy. */
export function* cutIntoPieces(bytes: Buffer): Generator<Buffer, void> {
  for (let start = 0; start < bytes.length; start += pieceBytes) yield bytes.subarray(start, start + pieceBytes);
}
