import { nextTurn } from '../turns/next-turn.ts';
import { sortSteps } from '../turns/sort-steps.ts';
import { allSteps } from '../turns/steps.ts';
import type { Steps } from '../turns/steps.ts';
import { compareNames } from './entry.ts';
import type { Slot } from './entry.ts';
import { addItems, sortedIndexOf } from './index-items.ts';
import type { IndexItems } from './index-items.ts';
import type { SortedIndex } from './sorted-index.ts';
import { valuesWithout } from './values-without.ts';

/** Objects that are looked at in one step: about a millisecond. */
const slotsPerStep = 1000;

/** Objects whose changes are caught up with in one step: about a millisecond. */
const changesPerStep = 100;

export interface LazyIndexParts {
  /** The slots of all present objects. */
  readonly slots: () => Iterable<Slot>;
  /** Where the values stand in `Entry.values`. */
  readonly position: number;
  /** Under which of its values an object stands in this index; distinct, in code point order. */
  readonly itemsOf: (values: readonly string[]) => readonly string[];
}

/** The items of an object before the first change that a build has not seen, and after the last one. */
interface Missed {
  readonly before: readonly string[];
  after: readonly string[];
}

type MissedChanges = Map<Slot, Missed>;

/** A build that is under way. */
interface Build {
  readonly missed: MissedChanges;
  readonly isOver: Promise<void>;
}

/**
 * A sorted index that is made of the present objects when it is first needed: at once by {@link get}, or by
 * {@link prepare} in many turns of the event loop. From then on it follows all changes.
 */
export class LazyIndex {
  readonly #parts: LazyIndexParts;
  #made: SortedIndex | undefined;
  #build: Build | undefined;

  constructor(parts: LazyIndexParts) {
    this.#parts = parts;
  }

  get isMade(): boolean {
    return this.#made !== undefined;
  }

  /** Makes the index in this turn where it is not made yet. */
  get(): SortedIndex {
    if (this.#made === undefined) this.set(allSteps(this.#steps(new Map())));
    return this.#made as SortedIndex;
  }

  /**
   * Returns undefined where the index is made; else a promise that resolves when it is, or when its objects were replaced
   * meanwhile: the caller asks again. Writes between the turns are in the index when it is made.
   */
  prepare(): Promise<void> | undefined {
    if (this.#made !== undefined) return undefined;
    this.#build ??= this.#begin();
    return this.#build.isOver;
  }

  /** Replaces the index, as all objects are replaced. Undefined: the index is made when it is next needed. */
  set(made: SortedIndex | undefined): void {
    this.#made = made;
    this.#build = undefined;
  }

  /** The same index of other objects, whose slots come in the order of their names. */
  *remake(slots: readonly Slot[]): Steps<SortedIndex> {
    return yield* sortedIndexOf(yield* this.#itemsOf(slots, new Map()));
  }

  /** Moves a slot from its former values to the new ones. */
  move(slot: Slot, before: readonly string[] | undefined, after: readonly string[] | undefined): void {
    if (this.#made === undefined && this.#build === undefined) return;
    const { itemsOf } = this.#parts;
    const old = before === undefined ? [] : itemsOf(before);
    const current = after === undefined ? [] : itemsOf(after);
    if (this.#made === undefined) return this.#note(slot, old, current);
    for (const value of valuesWithout(old, current)) this.#made.remove(value, slot);
    for (const value of valuesWithout(current, old)) this.#made.insert(value, slot);
  }

  #note(slot: Slot, before: readonly string[], after: readonly string[]): void {
    const missed = this.#build?.missed;
    const known = missed?.get(slot);
    if (known === undefined) missed?.set(slot, { before, after });
    else known.after = after;
  }

  #begin(): Build {
    const missed: MissedChanges = new Map();
    return { missed, isOver: this.#run(missed) };
  }

  async #run(missed: MissedChanges): Promise<void> {
    const steps = this.#steps(missed);
    for (;;) {
      await nextTurn();
      if (this.#build?.missed !== missed) return;
      const step = steps.next();
      if (step.done === true) return this.set(step.value);
    }
  }

  *#steps(missed: MissedChanges): Steps<SortedIndex> {
    const slots = yield* this.#sortedSlots();
    const index = yield* sortedIndexOf(yield* this.#itemsOf(slots, missed));
    yield* catchUp(index, missed);
    return index;
  }

  /** Objects that come meanwhile are missed changes, whether or not they are among the slots. */
  *#sortedSlots(): Steps<readonly Slot[]> {
    const slots: Slot[] = [];
    for (const slot of this.#parts.slots()) {
      slots.push(slot);
      if (slots.length % slotsPerStep === 0) yield;
    }
    return yield* sortSteps(slots, compareNames);
  }

  *#itemsOf(slots: readonly Slot[], missed: ReadonlyMap<Slot, Missed>): Steps<IndexItems> {
    const { position, itemsOf } = this.#parts;
    const items: IndexItems = { values: [], slots: [] };
    for (const [at, slot] of slots.entries()) {
      // The values of a slot that has changed already are added when the build catches up.
      if (!missed.has(slot)) addItems(items, slot, itemsOf(slot.entry.values[position] ?? []));
      if (at % slotsPerStep === 0) yield;
    }
    return items;
  }
}

/** Brings an index up to date with the changes that its build has missed, and with those that come while it does that. */
function* catchUp(index: SortedIndex, missed: MissedChanges): Steps<void> {
  while (missed.size > 0) {
    const changes = [...missed];
    missed.clear();
    for (const [at, [slot, { before, after }]] of changes.entries()) {
      if (at > 0 && at % changesPerStep === 0) yield;
      // Not in the index where the slot changed before its values were read: removing them changes nothing.
      for (const value of before) index.remove(value, slot);
      for (const value of after) index.insert(value, slot);
    }
  }
}
