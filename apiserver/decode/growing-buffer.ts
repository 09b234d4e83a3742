const firstBytes = 1024;

/**
 * Collects chunks in one piece of memory. If the chunks were stored separately, a client that sends each byte in its
 * own chunk would make the server use a hundred times the memory of the bytes.
 */
export class GrowingBuffer {
  readonly #maxBytes: number;
  readonly #onGrow: (bytes: number) => void;
  #memory: Buffer = Buffer.alloc(0);
  #length = 0;

  /**
   * Creates an empty buffer, to which callers add at most `maxBytes`. `onGrow` is called with the new size before
   * memory is allocated, and may throw.
   */
  constructor(maxBytes: number, onGrow: (bytes: number) => void) {
    this.#maxBytes = maxBytes;
    this.#onGrow = onGrow;
  }

  get length(): number {
    return this.#length;
  }

  /** Adds a chunk. `expected` is the total number of bytes, if it is known. */
  add(chunk: Uint8Array, expected: number = 0): void {
    const needed = this.#length + chunk.length;
    if (needed > this.#memory.length) this.#grow(Math.max(needed, expected, firstBytes, 2 * this.#memory.length));
    this.#memory.set(chunk, this.#length);
    this.#length = needed;
  }

  /** Returns the bytes, and empties the buffer. */
  take(): Buffer {
    const taken = this.#memory.subarray(0, this.#length);
    this.#memory = Buffer.alloc(0);
    this.#length = 0;
    return taken;
  }

  #grow(wanted: number): void {
    const bytes = Math.min(wanted, this.#maxBytes);
    this.#onGrow(bytes);
    const larger = Buffer.allocUnsafe(bytes);
    larger.set(this.#memory.subarray(0, this.#length));
    this.#memory = larger;
  }
}
