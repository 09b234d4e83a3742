import { inBounds } from '../base/in-bounds.ts';
import { StoredEntry } from './entry.ts';
import { EntryPlaces } from './entry-places.ts';
import { hashOf } from './key-hash.ts';
import { KeyPlaces } from './key-places.ts';
import { Block } from './slabs.ts';
import { StoredRecord } from './stored-record.ts';

const smallestTable = 16;

/** No row is in a block with this number. */
const free = -1;

/**
 * Entries that were given out and are given out again, so that what others keep about an entry of a small kind, by identity, is
 * found again.
 */
const keptEntries = 8192;

/**
 * The entries of a kind, in rows. A row is three numbers: the number of the block, the position of the record in it, and the hash of the
 * key. A row keeps its number when its entry is replaced; the row of a removed entry is used again.
 */
export class EntryTable {
  #block = new Int32Array(smallestTable);
  #at = new Int32Array(smallestTable);
  #hash = new Int32Array(smallestTable);
  /** Rows from here on were never used. */
  #end = 0;
  #size = 0;
  /** The row that was removed last, whose position is the number of the one removed before it. */
  #free = free;
  readonly #blocks: (Block | undefined)[] = [];
  readonly #rowsIn: number[] = [];
  readonly #numbers = new Map<Block, number>();
  readonly #freeNumbers: number[] = [];
  readonly #kept: (StoredEntry | undefined)[] = [];
  readonly #keys = new KeyPlaces((row) => inBounds(this.#hash[row]));
  readonly #record = new StoredRecord(noBlock, 0);
  #wanted = '';

  get size(): number {
    return this.#size;
  }

  /** The row of a key; -1 when there is none. */
  find(key: string): number {
    this.#wanted = key;
    return this.#keys.find(hashOf(key), this.#hasWantedKey);
  }

  /** The entry of a row. */
  entry(row: number): StoredEntry {
    const kept = this.#kept[row & (keptEntries - 1)];
    const block = this.blockOf(row);
    const at = inBounds(this.#at[row]);
    if (kept?.block === block && kept.at === at) return kept;
    return (this.#kept[row & (keptEntries - 1)] = new StoredEntry(block, at));
  }

  /** Moves a reader to the record of a row, and returns it. */
  read(row: number, record: StoredRecord): StoredRecord {
    return record.moveTo(this.blockOf(row), inBounds(this.#at[row]));
  }

  has(row: number): boolean {
    return row < this.#end && this.#block[row] !== free;
  }

  blockOf(row: number): Block {
    return inBounds(this.#blocks[inBounds(this.#block[row])]);
  }

  /** Rows are below this number. */
  get end(): number {
    return this.#end;
  }

  /** Takes an entry whose key is not there, and returns its row. */
  add(entry: StoredEntry): number {
    const row = this.#newRow();
    const hash = hashOf(entry.key);
    this.#hash[row] = hash;
    this.#set(row, entry);
    this.#keys.add(hash, row);
    this.#size += 1;
    return row;
  }

  /** Replaces the entry of a row by one with the same key. */
  replace(row: number, entry: StoredEntry): void {
    this.#leave(row);
    this.#set(row, entry);
  }

  remove(row: number): void {
    this.#keys.remove(inBounds(this.#hash[row]), row);
    this.#leave(row);
    this.#block[row] = free;
    this.#at[row] = this.#free;
    this.#free = row;
    this.#size -= 1;
    this.#kept[row & (keptEntries - 1)] = undefined;
  }

  /** Moves the record of a row; an entry that was given out moves with it if it is kept. */
  move(row: number, block: Block, at: number): void {
    const kept = this.#kept[row & (keptEntries - 1)];
    const isKept = kept?.block === this.blockOf(row) && kept.at === this.#at[row];
    const entry = isKept ? kept.moveTo(block, at) : new StoredEntry(block, at);
    this.#leave(row);
    this.#place(row, entry);
  }

  /** All entries, in no particular order. Entries that are added meanwhile may be left out. */
  *entries(): IterableIterator<StoredEntry> {
    for (let row = 0; row < this.#end; row += 1) if (this.has(row)) yield this.entry(row);
  }

  /** The rows that have an entry. */
  rows(): Int32Array {
    const rows = new Int32Array(this.#size);
    let filled = 0;
    for (let row = 0; row < this.#end; row += 1) {
      if (this.#block[row] === free) continue;
      rows[filled] = row;
      filled += 1;
    }
    return rows;
  }

  /** The entries of rows, as they are now. */
  placesOf(rows: Int32Array): EntryPlaces {
    const places = new EntryPlaces(this.#blocks, rows.length);
    for (const row of rows) places.add(inBounds(this.#block[row]), inBounds(this.#at[row]));
    return places;
  }

  readonly #hasWantedKey = (row: number): boolean => this.read(row, this.#record).hasKey(this.#wanted);

  #newRow(): number {
    const row = this.#free;
    if (row !== free) {
      this.#free = inBounds(this.#at[row]);
      return row;
    }
    if (this.#end === this.#block.length) this.#grow();
    this.#end += 1;
    return this.#end - 1;
  }

  /** Copies 12 MB for a million rows: some milliseconds. */
  #grow(): void {
    const size = Math.ceil(this.#end * 1.5);
    [this.#block, this.#at, this.#hash] = [larger(this.#block, size), larger(this.#at, size), larger(this.#hash, size)];
  }

  #set(row: number, entry: StoredEntry): void {
    this.#place(row, entry);
    this.#kept[row & (keptEntries - 1)] = entry;
  }

  #place(row: number, { block, at }: StoredRecord): void {
    const number = this.#numbers.get(block) ?? this.#numberFor(block);
    this.#rowsIn[number] = inBounds(this.#rowsIn[number]) + 1;
    this.#block[row] = number;
    this.#at[row] = at;
  }

  #numberFor(block: Block): number {
    const number = this.#freeNumbers.pop() ?? this.#blocks.length;
    this.#blocks[number] = block;
    this.#rowsIn[number] = 0;
    this.#numbers.set(block, number);
    return number;
  }

  /** A block that no row is in is no longer held. */
  #leave(row: number): void {
    const number = inBounds(this.#block[row]);
    const left = inBounds(this.#rowsIn[number]) - 1;
    this.#rowsIn[number] = left;
    if (left > 0) return;
    this.#numbers.delete(inBounds(this.#blocks[number]));
    this.#blocks[number] = undefined;
    this.#freeNumbers.push(number);
  }
}

const noBlock = new Block(0);

function larger(column: Int32Array<ArrayBuffer>, size: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(size);
  copy.set(column);
  return copy;
}
