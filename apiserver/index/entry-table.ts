import { randomBytes } from 'node:crypto';
import { inBounds } from '../base/in-bounds.ts';
import { keyHash } from '../base/key-hash.ts';
import type { HashSecret } from '../base/key-hash.ts';
import type { Steps } from '../turns/steps.ts';
import { StoredEntry } from './stored-entry.ts';
import { EntryPlaces } from './entry-places.ts';
import { Block } from './slabs.ts';

// Clients choose the names. They cannot find names with equal hashes, because they do not know this secret.
const random = randomBytes(8);
const ofProcess: HashSecret = [random.readInt32LE(0), random.readInt32LE(4)];

/**
 * The hash table consists of 64 small tables, its shards. A hash is shifted by this number of bits, and the six bits
 * that remain are the number of the shard. With a million keys, a shard has 16,000 keys, and grows in a millisecond.
 */
const shardShift = 26;
const smallestShard = 8;

/**
 * A hash table of row numbers. It consists of small tables with open addressing, which grow one at a time. Each
 * position has a row number + 1, or 0 when it is free. The parameter `hashes` has the hash of each row, by the row's
 * number.
 */
export class KeyPlaces {
  readonly #shards: (Int32Array | undefined)[] = [];
  readonly #sizes: number[] = [];

  /** Creates tables that are large enough for all rows with these hashes. The caller adds the rows afterwards. */
  expect(hashes: Int32Array): void {
    const sizes: number[] = [];
    for (const hash of hashes) sizes[hash >>> shardShift] = (sizes[hash >>> shardShift] ?? 0) + 1;
    for (const [shard, size] of sizes.entries()) {
      let length = smallestShard;
      while (size * 4 > length * 3) length *= 2;
      this.#shards[shard] = new Int32Array(length);
    }
  }

  /** Returns the row with this hash for which `isRight` returns true; -1 when there is none. */
  find(hash: number, hashes: Int32Array, isRight: (row: number) => boolean): number {
    const places = this.#shards[hash >>> shardShift];
    if (places === undefined) return -1;
    const mask = places.length - 1;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const row = inBounds(places[at]) - 1;
      if (row < 0 || (hashes[row] === hash && isRight(row))) return row;
    }
  }

  /** Adds a row, which must not be in the table. The caller must have stored the row's hash in `hashes[row]`. */
  add(row: number, hashes: Int32Array): void {
    const hash = inBounds(hashes[row]);
    const shard = hash >>> shardShift;
    const size = (this.#sizes[shard] ?? 0) + 1;
    this.#sizes[shard] = size;
    let places = this.#shards[shard] ?? new Int32Array(smallestShard);
    // The table is at most three quarters full, so that a successful search examines at most two and a half positions
    // on average.
    if (size * 4 > places.length * 3) places = doubled(places, hashes);
    this.#shards[shard] = places;
    const mask = places.length - 1;
    let at = hash & mask;
    while (places[at] !== 0) at = (at + 1) & mask;
    places[at] = row + 1;
  }

  /** Removes a row, which must be in the table. */
  remove(row: number, hashes: Int32Array): void {
    const hash = inBounds(hashes[row]);
    const shard = hash >>> shardShift;
    const places = inBounds(this.#shards[shard]);
    const mask = places.length - 1;
    let hole = hash & mask;
    while (places[hole] !== row + 1) hole = (hole + 1) & mask;
    // A row behind the gap moves into it, if this brings the row nearer to the position of its hash.
    for (let at = (hole + 1) & mask; places[at] !== 0; at = (at + 1) & mask) {
      const own = inBounds(hashes[inBounds(places[at]) - 1]) & mask;
      if (((at - own) & mask) < ((at - hole) & mask)) continue;
      places[hole] = inBounds(places[at]);
      hole = at;
    }
    places[hole] = 0;
    this.#sizes[shard] = inBounds(this.#sizes[shard]) - 1;
  }
}

function doubled(places: Int32Array, hashes: Int32Array): Int32Array {
  const twice = new Int32Array(places.length * 2);
  const mask = twice.length - 1;
  for (const place of places) {
    if (place === 0) continue;
    let at = inBounds(hashes[place - 1]) & mask;
    while (twice[at] !== 0) at = (at + 1) & mask;
    twice[at] = place;
  }
  return twice;
}

const smallestTable = 16;

/** The number of rows whose hashes are added in one step, which takes a millisecond. */
const placedPerStep = 16_384;

/** The content of a table. The rows are numbered without gaps, in the order of their blocks. */
export interface TableContent {
  readonly secret: HashSecret;
  /** The position of the record of each row in its block. */
  readonly at: Int32Array<ArrayBuffer>;
  /** The hash of the key of each row. */
  readonly hashes: Int32Array<ArrayBuffer>;
  /** The blocks, each with the number of its rows. */
  readonly blocks: readonly { readonly block: Block; readonly rows: number }[];
}

/** The value for "no row" in place of a row's number, and for "no entry" in the column of block numbers. */
const free = -1;

/**
 * The size of the cache of entry objects. A later read returns the same object if it is still in the cache. Callers
 * cache data by the identity of an entry, which works well for kinds that fit into this cache.
 */
const keptEntries = 8192;

/**
 * The entries of a kind, in numbered rows. A row has three columns: the number of the block, the position of the record
 * in this block, and the hash of the key. An entry that replaces an entry of the same key takes its row. The row of a
 * removed entry is used again.
 */
export class EntryTable {
  #block = new Int32Array(smallestTable);
  #at = new Int32Array(smallestTable);
  #hash = new Int32Array(smallestTable);
  /** The number of the first row that was never used. */
  #end = 0;
  #size = 0;
  /**
   * The row that was freed last; -1 when no row is free. In a free row, the position field has the number of the row
   * that was freed before it.
   */
  #free = free;
  readonly #blocks: (Block | undefined)[] = [];
  readonly #rowsIn: number[] = [];
  readonly #numbers = new Map<Block, number>();
  readonly #freeNumbers: number[] = [];
  readonly #kept: (StoredEntry | undefined)[] = [];
  readonly #keys = new KeyPlaces();
  readonly #record = new StoredEntry(noBlock, 0);
  /** The secret for the hashes of keys. */
  readonly secret: HashSecret;
  /**
   * The key that was searched last. It is cached with its hash, because a key that was not found is usually added next.
   */
  #wanted = '';
  #wantedHash: number;

  /** Creates an empty table. @param secret the secret for the hashes of keys; default: that of this process */
  constructor(secret: HashSecret = ofProcess) {
    this.secret = secret;
    this.#wantedHash = keyHash('', secret) | 0;
  }

  /** Creates a table with this content. The table uses the arrays of the content as its own. */
  static *of({ secret, at, hashes, blocks }: TableContent): Steps<EntryTable> {
    const table = new EntryTable(secret);
    table.#at = at;
    table.#hash = hashes;
    table.#block = new Int32Array(at.length);
    table.#end = table.#size = at.length;
    let from = 0;
    for (const { block, rows } of blocks) {
      const number = table.#numberFor(block);
      table.#rowsIn[number] = rows;
      table.#block.fill(number, from, from + rows);
      from += rows;
    }
    table.#keys.expect(hashes);
    for (let row = 0; row < at.length; row += 1) {
      if (row % placedPerStep === 0) yield;
      table.#keys.add(row, hashes);
    }
    return table;
  }

  get size(): number {
    return this.#size;
  }

  /** Returns the row of a key; -1 when there is none. */
  find(key: string): number {
    this.#wanted = key;
    this.#wantedHash = keyHash(key, this.secret) | 0;
    return this.#keys.find(this.#wantedHash, this.#hash, this.#hasWantedKey);
  }

  /** Returns the entry of a row. */
  entry(row: number): StoredEntry {
    const kept = this.#kept[row & (keptEntries - 1)];
    const block = this.blockOf(row);
    const at = inBounds(this.#at[row]);
    if (kept?.block === block && kept.at === at) return kept;
    return (this.#kept[row & (keptEntries - 1)] = new StoredEntry(block, at));
  }

  /** Points `record` to the entry of a row, and returns `record`. Unlike {@link entry}, this creates no object. */
  read(row: number, record: StoredEntry): StoredEntry {
    return record.moveTo(this.blockOf(row), inBounds(this.#at[row]));
  }

  hashOf(row: number): number {
    return inBounds(this.#hash[row]);
  }

  has(row: number): boolean {
    return row < this.#end && this.#block[row] !== free;
  }

  blockOf(row: number): Block {
    return inBounds(this.#blocks[inBounds(this.#block[row])]);
  }

  /** All row numbers are below this number. */
  get end(): number {
    return this.#end;
  }

  /** Adds an entry whose key is not in the table, and returns its row. */
  add(entry: StoredEntry, key: string = entry.key): number {
    let row = this.#free;
    if (row !== free) this.#free = inBounds(this.#at[row]);
    else {
      row = this.#end;
      if (row === this.#block.length) this.#grow();
      this.#end += 1;
    }
    this.#hash[row] = key === this.#wanted ? this.#wantedHash : keyHash(key, this.secret) | 0;
    this.#place(row, entry);
    this.#kept[row & (keptEntries - 1)] = entry;
    this.#keys.add(row, this.#hash);
    this.#size += 1;
    return row;
  }

  /** Replaces the entry of a row by one with the same key. */
  replace(row: number, entry: StoredEntry): void {
    this.#leave(row);
    this.#place(row, entry);
    this.#kept[row & (keptEntries - 1)] = entry;
  }

  remove(row: number): void {
    this.#keys.remove(row, this.#hash);
    this.#leave(row);
    this.#block[row] = free;
    this.#at[row] = this.#free;
    this.#free = row;
    this.#size -= 1;
    this.#kept[row & (keptEntries - 1)] = undefined;
  }

  /**
   * Changes the position of the record of a row. If the entry object of the row is cached, its position changes as
   * well.
   */
  move(row: number, block: Block, at: number): void {
    const kept = this.#kept[row & (keptEntries - 1)];
    const isKept = kept?.block === this.blockOf(row) && kept.at === this.#at[row];
    const entry = isKept ? kept.moveTo(block, at) : new StoredEntry(block, at);
    this.#leave(row);
    this.#place(row, entry);
  }

  /** Yields all entries, in no particular order. Entries that are added meanwhile may be left out. */
  *entries(): IterableIterator<StoredEntry> {
    for (let row = 0; row < this.#end; row += 1) if (this.has(row)) yield this.entry(row);
  }

  /** Returns the rows that have an entry. */
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

  /** Returns the entries that these rows have now. Later changes of the rows do not affect the result. */
  placesOf(rows: Int32Array): EntryPlaces {
    const places = new EntryPlaces(this.#blocks, rows.length);
    for (const row of rows) places.add(inBounds(this.#block[row]), inBounds(this.#at[row]));
    return places;
  }

  readonly #hasWantedKey = (row: number): boolean => this.read(row, this.#record).hasKey(this.#wanted);

  /** Makes the columns larger by half. For a million rows this copies 12 MB, which takes some milliseconds. */
  #grow(): void {
    const size = Math.ceil(this.#end * 1.5);
    [this.#block, this.#at, this.#hash] = [larger(this.#block, size), larger(this.#at, size), larger(this.#hash, size)];
  }

  #place(row: number, { block, at }: StoredEntry): void {
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

  /** Decrements the number of rows in the block of a row. Drops the block when it has no more rows. */
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
