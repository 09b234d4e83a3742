import { inBounds } from '../base/in-bounds.ts';

/** There are 64 shards, by the first bits of the hash. So a shard of a million keys has 16,000, and grows in a millisecond. */
const shardShift = 26;
const smallestShard = 8;

/** Row numbers by hash: open addressing in small tables, which grow one at a time. A place holds a row + 1, or 0. */
export class KeyPlaces {
  readonly #shards: (Int32Array | undefined)[] = [];
  readonly #sizes: number[] = [];
  readonly #hashOf: (row: number) => number;

  /** `hashOf` returns the hash of a row that is in the table. */
  constructor(hashOf: (row: number) => number) {
    this.#hashOf = hashOf;
  }

  /** The row with this hash for which `isRight` returns true; -1 when there is none. */
  find(hash: number, isRight: (row: number) => boolean): number {
    const places = this.#shards[shardOf(hash)];
    if (places === undefined) return -1;
    const mask = places.length - 1;
    for (let at = placeOf(hash) & mask; ; at = (at + 1) & mask) {
      const row = inBounds(places[at]) - 1;
      if (row < 0 || (this.#hashOf(row) === hash && isRight(row))) return row;
    }
  }

  /** The row must not be there. */
  add(hash: number, row: number): void {
    const shard = shardOf(hash);
    const size = (this.#sizes[shard] ?? 0) + 1;
    this.#sizes[shard] = size;
    let places = this.#shards[shard] ?? new Int32Array(smallestShard);
    // At three quarters, a search looks at two and a half places.
    if (size * 4 > places.length * 3) places = this.#grown(places);
    this.#shards[shard] = places;
    insert(places, hash, row);
  }

  /** The row must be there. */
  remove(hash: number, row: number): void {
    const shard = shardOf(hash);
    const places = inBounds(this.#shards[shard]);
    const mask = places.length - 1;
    let hole = placeOf(hash) & mask;
    while (places[hole] !== row + 1) hole = (hole + 1) & mask;
    // The rows behind it move back, as far as that brings them nearer to their own place.
    for (let at = (hole + 1) & mask; places[at] !== 0; at = (at + 1) & mask) {
      const own = placeOf(this.#hashOf(inBounds(places[at]) - 1)) & mask;
      if (((at - own) & mask) < ((at - hole) & mask)) continue;
      places[hole] = inBounds(places[at]);
      hole = at;
    }
    places[hole] = 0;
    this.#sizes[shard] = inBounds(this.#sizes[shard]) - 1;
  }

  #grown(places: Int32Array): Int32Array {
    const larger = new Int32Array(places.length * 2);
    for (const place of places) if (place !== 0) insert(larger, this.#hashOf(place - 1), place - 1);
    return larger;
  }
}

function insert(places: Int32Array, hash: number, row: number): void {
  const mask = places.length - 1;
  let at = placeOf(hash) & mask;
  while (places[at] !== 0) at = (at + 1) & mask;
  places[at] = row + 1;
}

function shardOf(hash: number): number {
  return hash >>> shardShift;
}

function placeOf(hash: number): number {
  return hash & 0x3ffffff;
}
