import { inBounds } from '../base/in-bounds.ts';
import type { BlockNumbers } from './block-numbers.ts';
import type { FeedChange } from './feed-change.ts';
import type { Entry } from './entry.ts';
import { StoredEntry } from './stored-entry.ts';

/** The number of consecutive changes in one {@link PackedChanges}. */
export const packedTogether = 512;

const types = ['ADDED', 'MODIFIED', 'DELETED'] as const;

/**
 * The number of words for a change: the block and the position of its entry, and the block and the position of the
 * state before it.
 */
const placeWords = 4;

/** The number that stands in place of a block's number when a change has no former state. */
const none = -1;

/**
 * Consecutive changes of a kind, as numbers: 25 bytes each. As objects, a change takes 150 bytes of heap, and each full
 * garbage collection visits its four objects.
 */
export class PackedChanges {
  readonly #numbers: BlockNumbers;
  readonly #revisions: Float64Array;
  readonly #types: Uint8Array;
  readonly #places: Int32Array;
  /** The few changes whose states are not records in blocks, and so cannot be packed; by the position of the change. */
  readonly #others = new Map<number, FeedChange>();
  /** Changes before this position are dropped. */
  #dropped = 0;

  constructor(changes: readonly FeedChange[], numbers: BlockNumbers) {
    this.#numbers = numbers;
    this.#revisions = new Float64Array(changes.length);
    this.#types = new Uint8Array(changes.length);
    this.#places = new Int32Array(placeWords * changes.length).fill(none);
    for (const [at, change] of changes.entries()) this.#set(at, change);
  }

  revision(at: number): number {
    return inBounds(this.#revisions[at]);
  }

  /** Returns the change at a position. Each call creates new objects. */
  change(at: number): FeedChange {
    const other = this.#others.get(at);
    if (other !== undefined) return other;
    const type = inBounds(types[inBounds(this.#types[at])]);
    const entry = this.#entry(placeWords * at);
    const revision = this.revision(at);
    // An addition has no former state; all other changes have one.
    if (type === 'ADDED') return { type, revision, entry };
    return { type, revision, entry, previous: this.#entry(placeWords * at + 2) };
  }

  /** Iterates over the changes, without those that are dropped before the iteration reaches them. */
  *changes(): IterableIterator<FeedChange> {
    for (let at = 0; at < this.#revisions.length; at += 1) if (at >= this.#dropped) yield this.change(at);
  }

  /** True when the change at a position is a change of this object. */
  isOf(at: number, key: string): boolean {
    const other = this.#others.get(at);
    return other === undefined ? this.#entry(placeWords * at).hasKey(key) : other.entry.key === key;
  }

  /** Drops the changes before a position. */
  dropBefore(end: number): void {
    for (; this.#dropped < end; this.#dropped += 1) {
      if (this.#others.delete(this.#dropped)) continue;
      for (const at of this.#placesOf(this.#dropped)) this.#numbers.release(inBounds(this.#places[at]));
    }
  }

  /**
   * Iterates over the states before and after each change that is not dropped. If the caller moves a record to another
   * place in memory before it takes the next state, the change gets the new position.
   */
  *states(): IterableIterator<Entry> {
    for (let change = this.#dropped; change < this.#revisions.length; change += 1) {
      const other = this.#others.get(change);
      if (other !== undefined) yield* statesOf(other);
      else for (const at of this.#placesOf(change)) yield* this.#movable(change, at);
    }
  }

  *#movable(change: number, at: number): IterableIterator<Entry> {
    // The change may be dropped while the caller is between two steps.
    if (change < this.#dropped) return;
    const entry = this.#entry(at);
    const { block, at: from } = entry;
    yield entry;
    if ((entry.block === block && entry.at === from) || change < this.#dropped) return;
    this.#numbers.release(inBounds(this.#places[at]));
    this.#place(at, entry);
  }

  #set(at: number, change: FeedChange): void {
    const { type, revision, entry, previous } = change;
    this.#revisions[at] = revision;
    this.#types[at] = types.indexOf(type);
    if (!(entry instanceof StoredEntry) || !(previous === undefined || previous instanceof StoredEntry)) {
      this.#others.set(at, change);
      return;
    }
    this.#place(placeWords * at, entry);
    if (previous !== undefined) this.#place(placeWords * at + 2, previous);
  }

  #place(at: number, { block, at: position }: StoredEntry): void {
    this.#places[at] = this.#numbers.hold(block);
    this.#places[at + 1] = position;
  }

  #entry(at: number): StoredEntry {
    return new StoredEntry(this.#numbers.block(inBounds(this.#places[at])), inBounds(this.#places[at + 1]));
  }

  #placesOf(change: number): readonly number[] {
    const at = placeWords * change;
    return this.#places[at + 2] === none ? [at] : [at + 2, at];
  }
}

/** The states before and after a change. */
export function statesOf({ entry, previous }: FeedChange): readonly Entry[] {
  return previous === undefined ? [entry] : [previous, entry];
}
