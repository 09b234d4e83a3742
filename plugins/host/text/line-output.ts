import { writeSync } from 'node:fs';

/**
 * The time that a line waits for a slow reader before the line is dropped. From then on, lines that cannot be written
 * are dropped at once, until the reader has read again.
 */
const maxWaitMs = 50;
const pauseMs = 5;
const newline = 0x0a;

/** The error codes of a pipe whose reader has closed it. */
const ends: readonly unknown[] = ['EPIPE', 'EBADF', 'ECONNRESET'];

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/**
 * Writes each line to a file descriptor before the call returns, so that no line is lost at an exit. Never throws:
 * writes nothing after the reader has closed the pipe, and drops a line that it cannot write for another reason. After
 * a partly written line, starts the next line with a line break.
 */
export class LineOutput {
  readonly #descriptor: number;
  #hasEnded = false;
  /** True when the reader did not read in time. Then a line that cannot be written is dropped at once. */
  #isStalled = false;
  /** True when the output ends with an incomplete line, whose rest was dropped. The next line then starts with \n. */
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

/** The output of stderr. The server continues after the reader of its stderr has closed it. */
export const stderr: LineOutput = new LineOutput(2);

function codeOf(error: unknown): unknown {
  return error instanceof Error ? Reflect.get(error, 'code') : undefined;
}
