/** The number of bytes that a new buffer allocates. Most batches fit into it. */
const usualBytes = 384 * 1024;

/** The maximum number of bytes in UTF-8 of one UTF-16 code unit. */
const maxUnitBytes = 3;

/**
 * Collects lines as bytes, and encodes each line as soon as it is added. If lines waited as strings for 50 ms, their
 * garbage collection and encoding would be half of the cost of an audit entry.
 */
export class LineBuffer {
  #memory: Buffer | undefined;
  #length = 0;
  #lines = 0;

  /** The number of bytes of all lines in the buffer. */
  get length(): number {
    return this.#length;
  }

  /** The number of lines. */
  get lines(): number {
    return this.#lines;
  }

  /** The bytes of all lines; they are valid until the next call of {@link add} or {@link clear}. */
  get bytes(): Buffer {
    return this.#roomFor(0).subarray(0, this.#length);
  }

  add(line: string): void {
    this.#length += this.#roomFor(line.length * maxUnitBytes).write(line, this.#length);
    this.#lines += 1;
  }

  /** Removes all lines. If they had at most {@link usualBytes}, their memory is kept for the next lines. */
  clear(): void {
    if (this.#length > usualBytes) this.#memory = undefined;
    this.#length = 0;
    this.#lines = 0;
  }

  /** Returns the memory, grown if needed, so that it has space for this number of further bytes. */
  #roomFor(bytes: number): Buffer {
    const needed = this.#length + bytes;
    let memory = (this.#memory ??= Buffer.allocUnsafeSlow(usualBytes));
    if (memory.length < needed) {
      memory = Buffer.allocUnsafeSlow(Math.max(needed, 2 * memory.length));
      this.#memory?.copy(memory, 0, 0, this.#length);
      this.#memory = memory;
    }
    return memory;
  }
}
