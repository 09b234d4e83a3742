import { writeSync } from 'node:fs';

/**
 * The time that a line may wait for a slow reader; after this time the line is dropped. Later lines do not wait at all,
 * until the reader has read again.
 */
const maxWaitMs = 50;
const pauseMs = 5;
const newline = 0x0a;

/** Error codes of a pipe whose reader has gone for good. */
const ends: readonly unknown[] = ['EPIPE', 'EBADF', 'ECONNRESET'];

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/**
 * Writes lines to a descriptor before the call returns, so that none is lost at an exit. It never throws: when the
 * reader is gone, it writes nothing; a line that cannot be written for another reason is dropped. After a
 * partly written line, the next one begins with a line break.
 */
export class LineOutput {
  readonly #descriptor: number;
  #hasEnded = false;
  /** True when the reader did not read in time: lines do not wait for it. */
  #isStalled = false;
  /** True when a part of a dropped line was written. */
  #isCut = false;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  write(line: string): void {
    if (this.#hasEnded) return;
    try {
      this.#writeAll(Buffer.from(this.#isCut ? `\n${line}` : line));
      this.#isStalled = false;
      this.#isCut = false;
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
        const isFull = codeOf(error) === 'EAGAIN';
        if (isFull && !this.#isStalled && waitedMs < maxWaitMs) {
          Atomics.wait(sleeper, 0, 0, pauseMs);
          waitedMs += pauseMs;
          continue;
        }
        this.#isStalled = isFull;
        if (written > 0) this.#isCut = bytes[written - 1] !== newline;
        throw error;
      }
    }
  }
}

/** The lines of stderr. The server continues when the reader of its stderr is gone. */
export const stderr: LineOutput = new LineOutput(2);

function codeOf(error: unknown): unknown {
  return error instanceof Error ? Reflect.get(error, 'code') : undefined;
}
