import { inBounds } from '../base/in-bounds.ts';
import { StoredEntry } from './stored-entry.ts';
import type { Block } from './slabs.ts';

const smallestList = 16;

/**
 * A list of entries, as they were when they were added. The list takes eight bytes for each entry, and creates
 * JavaScript objects only for entries that are read. It keeps the blocks of the entries in memory.
 */
export class EntryPlaces implements Iterable<StoredEntry> {
  readonly #blocks: (Block | undefined)[];
  /** The number of each block. The map is created at the first {@link push}. */
  #numbers: Map<Block, number> | undefined;
  #places: Int32Array;
  #length = 0;

  /** Creates an empty list. The number of a block, which {@link add} takes, is its position in `blocks`. */
  constructor(blocks: readonly (Block | undefined)[] = [], capacity: number = smallestList) {
    this.#blocks = [...blocks];
    this.#places = new Int32Array(2 * capacity);
  }

  static of(entries: Iterable<StoredEntry>): EntryPlaces {
    const places = new EntryPlaces();
    for (const entry of entries) places.push(entry);
    return places;
  }

  get length(): number {
    return this.#length;
  }

  push({ block, at }: StoredEntry): void {
    this.#numbers ??= new Map(this.#blocks.flatMap((each, number) => (each === undefined ? [] : [[each, number]])));
    let number = this.#numbers.get(block);
    if (number === undefined) {
      number = this.#blocks.push(block) - 1;
      this.#numbers.set(block, number);
    }
    this.add(number, at);
  }

  /** Adds to this list the entry whose record is at the position `at` of the block with the number `block`. */
  add(block: number, at: number): void {
    const to = 2 * this.#length;
    if (to === this.#places.length) this.#grow();
    this.#places[to] = block;
    this.#places[to + 1] = at;
    this.#length += 1;
  }

  /** Returns the entry at an index below {@link length}. */
  entry(index: number): StoredEntry {
    return new StoredEntry(this.#blockOf(index), inBounds(this.#places[2 * index + 1]));
  }

  /** Points `record` to the entry at an index, and returns `record`. Unlike {@link entry}, this creates no object. */
  read(index: number, record: StoredEntry): StoredEntry {
    return record.moveTo(this.#blockOf(index), inBounds(this.#places[2 * index + 1]));
  }

  /** Returns the entries from the index `from` up to, but without, the index `to`. */
  slice(from: number, to: number): StoredEntry[] {
    const found: StoredEntry[] = [];
    for (let index = from; index < Math.min(to, this.#length); index += 1) found.push(this.entry(index));
    return found;
  }

  /** Returns a list of the entries at the indexes in `order`, in the same order. */
  reordered(order: Int32Array): EntryPlaces {
    const list = new EntryPlaces(this.#blocks, order.length);
    for (const index of order) list.add(inBounds(this.#places[2 * index]), inBounds(this.#places[2 * index + 1]));
    return list;
  }

  *[Symbol.iterator](): IterableIterator<StoredEntry> {
    for (let index = 0; index < this.#length; index += 1) yield this.entry(index);
  }

  #blockOf(index: number): Block {
    return inBounds(this.#blocks[inBounds(this.#places[2 * index])]);
  }

  #grow(): void {
    const places = new Int32Array(Math.max(2 * smallestList, this.#places.length * 2));
    places.set(this.#places);
    this.#places = places;
  }
}
