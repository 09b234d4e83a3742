import type { EntryTable } from './entry-table.ts';
import { Block, largestBlock, roundUp } from './slabs.ts';
import { head, StoredEntry } from './stored-entry.ts';

/** A piece of memory that contains objects without gaps: the bytes of each object, followed by its record. */
export interface PackedBlock {
  /** The content of the block. It remains valid while the next block is packed, but not longer. */
  readonly bytes: Buffer;
  /** The number of records in the block. */
  readonly rows: number;
}

/**
 * Copies the records of a table one after the other, in the order of rows. The copies contain neither garbage nor
 * memory that was never written. The table must not be changed meanwhile, but its records may be moved. The copies have
 * new row numbers, without gaps.
 */
export class RecordPacker {
  readonly #table: EntryTable;
  readonly #record = new StoredEntry(noBlock, 0);
  /** Two blocks: one is filled while the caller writes the other one to a file. */
  #blocks: [Block, Block] = [new Block(largestBlock), new Block(largestBlock)];
  #row = 0;
  #packed = 0;
  /** The position of each record in its block. */
  readonly at: Int32Array;
  readonly hashes: Int32Array;
  /** The new number of each row; undefined when all rows keep their numbers. */
  readonly #newRows: Int32Array | undefined;
  #size = 0;

  constructor(table: EntryTable) {
    this.#table = table;
    this.at = new Int32Array(table.size);
    this.hashes = new Int32Array(table.size);
    this.#newRows = table.size === table.end ? undefined : new Int32Array(table.end);
  }

  /** The number of bytes in all blocks that have been packed: those of the objects and of their records. */
  get size(): number {
    return this.#size;
  }

  /** Packs the next block, and returns it; undefined after the last one. */
  next(): PackedBlock | undefined {
    const from = this.#packed;
    let block = this.#blocks[0];
    let filled = 0;
    for (; this.#row < this.#table.end; this.#row += 1) {
      if (!this.#table.has(this.#row)) continue;
      const record = this.#table.read(this.#row, this.#record);
      const needed = roundUp(record.size) + record.recordSize;
      if (filled + needed > block.size) {
        if (filled > 0) break;
        block = new Block(needed);
      }
      this.#add(copyTo(block, filled, record));
      filled += needed;
    }
    this.#size += filled;
    this.#blocks = [this.#blocks[1], this.#blocks[0]];
    const rows = this.#packed - from;
    return rows === 0 ? undefined : { bytes: block.bytes.subarray(0, filled), rows };
  }

  /**
   * Translates row numbers of the table to row numbers in the packed blocks, which have no gaps. Call it once all
   * records are packed.
   */
  renumber(rows: Int32Array): Int32Array {
    const newRows = this.#newRows;
    return newRows === undefined ? rows : rows.map((row) => newRows[row] ?? 0);
  }

  #add(at: number): void {
    this.at[this.#packed] = at;
    this.hashes[this.#packed] = this.#table.hashOf(this.#row);
    if (this.#newRows !== undefined) this.#newRows[this.#row] = this.#packed;
    this.#packed += 1;
  }
}

/**
 * Copies the bytes of an object to the position `to`, and its record to the next multiple of four behind the bytes.
 * Returns the position of the record.
 */
function copyTo(target: Block, to: number, { block, at, start, size, recordSize }: StoredEntry): number {
  const place = to + roundUp(size);
  block.bytes.copy(target.bytes, to, start, start + size);
  target.bytes.fill(0, to + size, place);
  block.bytes.copy(target.bytes, place, at, at + recordSize);
  target.words[place / 4 + head.back] = place - to;
  return place;
}

const noBlock = new Block(0);
