/** The size of the first block of a kind. It is small, because most kinds have few objects. */
const smallestBlock = 16 * 1024;

/**
 * The size of the largest blocks. A block remains in memory as long as one of its objects is in use. A million objects
 * of 1 KB, with their records, take 1,600 blocks.
 */
export const largestBlock: number = 1024 * 1024;

/** The largest object that shares a block with others. Larger objects have their own memory. */
const largestShared = largestBlock / 8;

/** The space for the record behind a large object, in bytes. */
const largeRoom = 4096;

/**
 * The share of garbage above which the memory of a kind is compacted, if the garbage also has more bytes than
 * {@link largestBlock}.
 */
const garbageShare = 1 / 6;

/**
 * A piece of memory, as bytes and as words of four bytes. {@link Slabs} fills its blocks from start to end, and never
 * overwrites an object in them.
 */
export class Block {
  readonly bytes: Buffer;
  /** The memory of {@link bytes}, in words of four bytes. */
  readonly words: Int32Array;

  constructor(size: number) {
    const rounded = roundUp(Math.ceil(size));
    this.bytes = Buffer.allocUnsafeSlow(rounded);
    this.words = new Int32Array(this.bytes.buffer, 0, rounded / 4);
  }

  get size(): number {
    return this.bytes.length;
  }
}

/** A block, and the number of its bytes that are filled. */
interface Filling {
  readonly block: Block;
  filled: number;
}

/** The place of a record. The bytes of the object that it describes are in the same block, before the record. */
export interface RecordPlace {
  readonly block: Block;
  /** The position of the record, a multiple of four. */
  readonly at: number;
  /** The position in the block at which the bytes that the record describes begin. */
  readonly bytesAt: number;
}

/**
 * The memory for the objects of a kind: blocks that are filled one after the other. Bytes that callers have received
 * remain valid, and keep their block in memory. {@link Slabs.placeBehind} names the only exception.
 */
export class Slabs {
  #shared: Filling | undefined;
  /** The block of the large object for which memory was allocated last; undefined when there is none. */
  #large: Filling | undefined;
  /**
   * The number of bytes in use. Between {@link seal} and {@link settle}, it counts only the blocks that were begun
   * since `seal`.
   */
  #used = 0;
  #garbage = 0;
  /** The blocks that were begun after {@link seal}; undefined before this call, and again after {@link settle}. */
  #fresh: Set<Block> | undefined;

  /**
   * Returns memory for the bytes of one object. The caller writes it in the same turn of the event loop, and never
   * again.
   */
  readonly allocate = (size: number): Buffer => {
    const filling = this.#fillingFor(size);
    const from = filling.filled;
    filling.filled += size;
    this.#used += size;
    return filling.block.bytes.subarray(from, filling.filled);
  };

  /**
   * Returns a place for a record right behind the bytes. If the bytes are the last allocation and their block has space
   * for the record, they stay where they are. Otherwise, they are copied to a place with enough space. After a copy of
   * the last allocation, a later object may overwrite the original, so the caller must not use `bytes` any more.
   */
  placeBehind(bytes: Buffer, length: number): RecordPlace {
    const end = bytes.byteOffset + bytes.length;
    const filling = this.#shared?.block.bytes.buffer === bytes.buffer ? this.#shared : this.#large;
    if (filling?.filled === end && filling.block.bytes.buffer === bytes.buffer) {
      const at = (end + 3) & ~3;
      if (at + length <= filling.block.bytes.length) {
        filling.filled = at + length;
        this.#used += filling.filled - end;
        return { block: filling.block, at, bytesAt: bytes.byteOffset };
      }
      filling.filled -= bytes.length;
      this.#used -= bytes.length;
    }
    return this.#copyTo(this.#placeOf(roundUp(bytes.length) + length), bytes);
  }

  /** Counts memory that is no longer in use. */
  release(size: number): void {
    this.#used -= size;
    this.#garbage += size;
  }

  /** True when the memory has so much garbage that it should be compacted. */
  get isSparse(): boolean {
    return this.#garbage > largestBlock && this.#garbage > garbageShare * (this.#used + this.#garbage);
  }

  /**
   * Seals all blocks: no more bytes are written to them. {@link settle} must be called once the live bytes in these
   * blocks have been counted.
   */
  seal(): void {
    this.#shared = undefined;
    this.#large = undefined;
    this.#used = 0;
    this.#fresh = new Set();
  }

  /**
   * True for a block that existed when {@link seal} was called, so no more bytes are written to it. Call this only
   * between {@link seal} and {@link settle}.
   */
  isSealed(block: Block): boolean {
    return this.#fresh?.has(block) !== true;
  }

  /**
   * Ends the period that began with {@link seal}: {@link isSealed} may not be called any more. `used` and `garbage` are
   * the numbers of live and garbage bytes in the sealed blocks that `compactSlabs` will not empty. `used` is added to
   * the count of live bytes, which {@link seal} had set to 0. `garbage` replaces the count of garbage.
   */
  settle(used: number, garbage: number): void {
    this.#used += used;
    this.#garbage = garbage;
    this.#fresh = undefined;
  }

  /**
   * Copies bytes from another block into a block that these slabs are filling. Returns this block, and the position of
   * the copy in it, which is a multiple of four.
   */
  copy(source: Block, from: number, size: number): { readonly block: Block; readonly at: number } {
    const place = this.#placeOf(size);
    source.bytes.copy(place.block.bytes, place.at, from, from + size);
    return place;
  }

  #copyTo({ block, at }: { readonly block: Block; readonly at: number }, bytes: Buffer): RecordPlace {
    bytes.copy(block.bytes, at);
    return { block, at: at + roundUp(bytes.length), bytesAt: at };
  }

  /** Returns a place for this many bytes. Its position in the block is a multiple of four. */
  #placeOf(size: number): { readonly block: Block; readonly at: number } {
    const filling = this.#fillingFor(size + 3);
    const at = roundUp(filling.filled);
    this.#used += at + size - filling.filled;
    filling.filled = at + size;
    return { block: filling.block, at };
  }

  /** Returns a block that has space for this many bytes. If necessary, begins a new block. */
  #fillingFor(size: number): Filling {
    if (size > largestShared) return (this.#large = this.#begin(size + largeRoom));
    if (this.#shared !== undefined && this.#shared.filled + size <= this.#shared.block.bytes.length)
      return this.#shared;
    const wanted = Math.max(smallestBlock, this.#used / 4, size);
    return (this.#shared = this.#begin(Math.min(largestBlock, wanted)));
  }

  #begin(size: number): Filling {
    const block = new Block(size);
    this.#fresh?.add(block);
    return { block, filled: 0 };
  }
}

/** Rounds a size up to a multiple of four. */
export function roundUp(size: number): number {
  return (size + 3) & ~3;
}

/** Copies an object's bytes into a new block of their own. Returns the place for the object's record in this block. */
export function placeAlone(bytes: Buffer, length: number): RecordPlace {
  const at = roundUp(bytes.length);
  const block = new Block(at + length);
  bytes.copy(block.bytes);
  return { block, at, bytesAt: 0 };
}
