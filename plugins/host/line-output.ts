import { writeSync } from 'node:fs';

/** How long one line may wait for a reader that is slow; then it is left out. */
const maxWaitMs = 1000;
const pauseMs = 5;

/** What is gone for good. */
const ends: readonly unknown[] = ['EPIPE', 'EBADF', 'ECONNRESET'];

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/**
 * Writes lines to a descriptor before the call returns, so that none is lost at an exit. It never throws: when the reader has
 * gone, nothing more is written; a line that cannot be written for another reason is left out.
 */
export class LineOutput {
  readonly #descriptor: number;
  #hasEnded = false;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  write(line: string): void {
    if (this.#hasEnded) return;
    try {
      this.#writeAll(Buffer.from(line));
    } catch (error) {
      this.#hasEnded = ends.includes(codeOf(error));
    }
  }

  #writeAll(bytes: Buffer): void {
    let written = 0;
    let waitedMs = 0;
    while (written < bytes.length) {
      try {
        written += writeSync(this.#descriptor, bytes, written);
      } catch (error) {
        if (codeOf(error) !== 'EAGAIN' || waitedMs >= maxWaitMs) throw error;
        Atomics.wait(sleeper, 0, 0, pauseMs);
        waitedMs += pauseMs;
      }
    }
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error ? Reflect.get(error, 'code') : undefined;
}
