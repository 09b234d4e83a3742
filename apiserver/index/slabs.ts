/** The first block of a kind is small, because most kinds have few objects. */
const smallestBlock = 16 * 1024;

/** A block stays in memory as long as one of its objects is in use. A million objects of 1 KB take 1,600 blocks. */
export const largestBlock: number = 1024 * 1024;

/** Larger objects have memory of their own. */
const largestShared = largestBlock / 8;

/** Room behind a large object for its record, in bytes. */
const largeRoom = 4096;

/** Memory is compacted from this share of garbage on. */
const garbageShare = 1 / 6;

/** Memory that is filled from its start to its end, and never written twice. */
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

/** A place for a record: the bytes that it describes end before it, in the same block. */
export interface RecordPlace {
  readonly block: Block;
  /** The position of the record, a multiple of four. */
  readonly at: number;
  /** The position of the bytes. */
  readonly bytesAt: number;
}

/**
 * Memory for the objects of a kind: blocks that are filled one after the other. Bytes that were given out stay valid, and keep
 * their block in memory.
 */
export class Slabs {
  #shared: Filling | undefined;
  /** The memory of the large object that was allocated last. */
  #large: Filling | undefined;
  /** Bytes of all objects that are in use, or were in use at some time since the last compaction. */
  #used = 0;
  #garbage = 0;
  /** The blocks that were begun since {@link seal}; undefined after {@link settle}. */
  #fresh: Set<Block> | undefined;

  /** Memory for the bytes of one object. The caller writes it in this turn, and never again. */
  readonly allocate = (size: number): Buffer => {
    const filling = this.#fillingFor(size);
    const from = filling.filled;
    filling.filled += size;
    this.#used += size;
    return filling.block.bytes.subarray(from, filling.filled);
  };

  /** A place for a record of the bytes, right behind them. Bytes that were not allocated last are copied. */
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

  /** True when so much is garbage that compaction is worth its work. */
  get isSparse(): boolean {
    return this.#garbage > largestBlock && this.#garbage > garbageShare * (this.#used + this.#garbage);
  }

  /** Ends the present blocks, which are not written any more. {@link settle} must follow. */
  seal(): void {
    this.#shared = undefined;
    this.#large = undefined;
    this.#used = 0;
    this.#fresh = new Set();
  }

  /** True for memory that was not written any more when {@link seal} was called. */
  isSealed(block: Block): boolean {
    return this.#fresh?.has(block) !== true;
  }

  /** Counts again: this many bytes of the sealed blocks are still in use, and this many are garbage. */
  settle(used: number, garbage: number): void {
    this.#used += used;
    this.#garbage = garbage;
    this.#fresh = undefined;
  }

  /** A copy of memory that begins at a multiple of four. */
  copy(source: Block, from: number, size: number): { readonly block: Block; readonly at: number } {
    const place = this.#placeOf(size);
    source.bytes.copy(place.block.bytes, place.at, from, from + size);
    return place;
  }

  #copyTo({ block, at }: { readonly block: Block; readonly at: number }, bytes: Buffer): RecordPlace {
    bytes.copy(block.bytes, at);
    return { block, at: at + roundUp(bytes.length), bytesAt: at };
  }

  /** Returns a place that begins at a multiple of four. */
  #placeOf(size: number): { readonly block: Block; readonly at: number } {
    const filling = this.#fillingFor(size + 3);
    const at = roundUp(filling.filled);
    this.#used += at + size - filling.filled;
    filling.filled = at + size;
    return { block: filling.block, at };
  }

  /** Memory that has room for so many bytes. */
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

/** Rounds up to a multiple of four. */
export function roundUp(size: number): number {
  return (size + 3) & ~3;
}

/** A place for bytes and their record in memory of their own. */
export function placeAlone(bytes: Buffer, length: number): RecordPlace {
  const at = roundUp(bytes.length);
  const block = new Block(at + length);
  bytes.copy(block.bytes);
  return { block, at, bytesAt: 0 };
}
