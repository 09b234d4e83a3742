import { inBounds } from '../base/in-bounds.ts';
import { BlockNumbers } from './block-numbers.ts';
import type { FeedChange } from './feed-change.ts';
import { footprintOf } from './create-entry.ts';
import type { Entry } from './entry.ts';
import { PackedChanges, packedTogether, statesOf } from './packed-changes.ts';

/**
 * The minimum number of latest changes that are kept as JavaScript objects; earlier changes are packed into arrays of
 * numbers. All watchers that keep up read the same objects, so they share what is derived from a change, such as its
 * JSON.
 */
const mostRecent = 1024;

/**
 * The changes of a kind in the order of their revisions. The latest changes are objects, and earlier changes are
 * packed. With 190,000 changes, packing reduced the time of a full garbage collection to a third.
 */
export class ChangeWindow {
  #numbers = new BlockNumbers();
  /** The packed changes, in parts of `packedTogether` changes. */
  #packed: PackedChanges[] = [];
  /** The number of dropped changes at the beginning of the first item of `#packed`. */
  #head = 0;
  #recent: FeedChange[] = [];
  /** The number of unfinished iterations over {@link states}, which may pause between two steps. */
  #visitors = 0;
  #bytes = 0;

  get length(): number {
    return this.#packedLength + this.#recent.length;
  }

  /**
   * The number of bytes of all objects in the window, each in the state after its change. The state before a change is
   * not added: it is already counted as the result of an earlier change, or belongs to the objects that were loaded.
   */
  get bytes(): number {
    return this.#bytes;
  }

  push(change: FeedChange): void {
    this.#recent.push(change);
    this.#bytes += change.entry.size;
    // Nothing is packed while a caller iterates over states(). When the caller moves a record to another block, it
    // changes the place in the entry of a recent change. A change packed before the move would keep the old place.
    while (this.#recent.length >= mostRecent + packedTogether && this.#visitors === 0)
      this.#packed.push(new PackedChanges(this.#recent.splice(0, packedTogether), this.#numbers));
  }

  clear(): void {
    this.#numbers = new BlockNumbers();
    this.#packed = [];
    this.#head = 0;
    this.#recent = [];
    this.#bytes = 0;
  }

  /** The change at a position. */
  at(position: number): FeedChange {
    const packed = this.#packedLength;
    if (position >= packed) return inBounds(this.#recent[position - packed]);
    const [part, at] = this.#locate(position);
    return part.change(at);
  }

  revisionAt(position: number): number {
    const packed = this.#packedLength;
    if (position >= packed) return inBounds(this.#recent[position - packed]).revision;
    const [part, at] = this.#locate(position);
    return part.revision(at);
  }

  /** True when the change at a position is a change of this object. */
  isOf(position: number, key: string): boolean {
    const packed = this.#packedLength;
    if (position >= packed) return inBounds(this.#recent[position - packed]).entry.key === key;
    const [part, at] = this.#locate(position);
    return part.isOf(at, key);
  }

  /** The position of the first change after a revision. */
  firstAfter(revision: number): number {
    let low = 0;
    let high = this.length;
    const first = this.#recent[0];
    // Most readers have seen the first change that is not packed. For them, the search skips the packed changes.
    if (first !== undefined && first.revision <= revision) low = this.#packedLength;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.revisionAt(middle) <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Iterates over the changes from a position on. Nothing may be dropped during the iteration. */
  *from(position: number): IterableIterator<FeedChange> {
    for (let at = position; at < this.length; at += 1) yield this.at(at);
  }

  /** Drops the first changes. Returns the memory, in bytes, of the states that only these changes used. */
  drop(count: number): number {
    let freed = 0;
    for (let position = 0; position < count; position += 1) {
      const change = this.at(position);
      this.#bytes -= change.entry.size;
      for (const state of formerStatesOf(change)) freed += footprintOf(state);
    }
    const recent = Math.max(0, count - this.#packedLength);
    const end = this.#head + count - recent;
    for (const part of this.#packed.splice(0, Math.floor(end / packedTogether))) part.dropBefore(packedTogether);
    this.#head = end % packedTogether;
    this.#packed[0]?.dropBefore(this.#head);
    this.#recent.splice(0, recent);
    return freed;
  }

  /** Iterates over the states that are no longer current, each once. */
  *formerStates(): IterableIterator<Entry> {
    for (const change of this.#changes()) yield* formerStatesOf(change);
  }

  /**
   * Iterates over the states before and after each change. The caller may move the record of a state to another place
   * in memory before it takes the next state.
   */
  *states(): IterableIterator<Entry> {
    this.#visitors += 1;
    try {
      const [packed, recent] = [this.#packed.slice(), this.#recent.slice()];
      for (const part of packed) yield* part.states();
      for (const change of recent) yield* statesOf(change);
    } finally {
      this.#visitors -= 1;
    }
  }

  /**
   * Iterates over the changes that the window has when the iteration begins. A change that is dropped during the
   * iteration may still be included.
   */
  *#changes(): IterableIterator<FeedChange> {
    const [packed, recent] = [this.#packed.slice(), this.#recent.slice()];
    for (const part of packed) yield* part.changes();
    yield* recent;
  }

  get #packedLength(): number {
    return this.#packed.length * packedTogether - this.#head;
  }

  #locate(position: number): readonly [PackedChanges, number] {
    const at = position + this.#head;
    return [inBounds(this.#packed[Math.floor(at / packedTogether)]), at % packedTogether];
  }
}

function formerStatesOf({ type, entry, previous }: FeedChange): readonly Entry[] {
  const before = previous === undefined ? [] : [previous];
  return type === 'DELETED' ? [...before, entry] : before;
}
