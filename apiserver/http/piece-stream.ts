import { Readable } from 'node:stream';

/** Size of one piece of a large answer. An answer that its client does not read keeps about three of them in memory. */
export const pieceBytes: number = 128 * 1024;

/** Pieces of an answer; one that takes longer comes as a promise. */
export type Pieces = Iterator<Buffer | Promise<Buffer>, void>;

/**
 * A body that is made while the client reads it: the next piece is made when the connection has taken the one before, and at
 * most one in a turn of the event loop. An iterator that throws cuts the connection, since the head has been sent.
 */
export class PieceStream extends Readable {
  readonly #pieces: Pieces;

  constructor(pieces: Pieces) {
    super({ highWaterMark: pieceBytes });
    this.#pieces = pieces;
  }

  override _read(): void {
    setImmediate(() => this.#push());
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
