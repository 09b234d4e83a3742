import { nextTurn } from '../turns/next-turn.ts';
import { sortSteps } from '../turns/sort-steps.ts';
import { allSteps } from '../turns/steps.ts';
import type { Steps } from '../turns/steps.ts';
import { compareNames, valueList } from './entry.ts';
import type { Slot } from './entry.ts';
import { addItems, sortedIndexOf } from './index-items.ts';
import type { IndexItems } from './index-items.ts';
import type { SortedIndex } from './sorted-index.ts';
import { valuesWithout } from './values-without.ts';

/** Objects visited in one step: about a millisecond. */
const slotsPerStep = 1000;

/** Objects whose missed changes are applied in one step: about a millisecond. */
const changesPerStep = 100;

export interface LazyIndexParts {
  /** The slots of all present objects. */
  readonly slots: () => Iterable<Slot>;
  /** The position of the values in `Entry.values`. */
  readonly position: number;
  /** Returns the values under which an object is in this index; distinct, in code point order. */
  readonly itemsOf: (values: readonly string[]) => readonly string[];
}

/** The items of an object before the first change that a build has not seen, and after the last one. */
interface Missed {
  readonly before: readonly string[];
  after: readonly string[];
}

type MissedChanges = Map<Slot, Missed>;

/** A running build. */
interface Build {
  readonly missed: MissedChanges;
  readonly isOver: Promise<void>;
}

/**
 * A sorted index that is built from the present objects when it is first needed: at once by {@link get}, or in many
 * turns of the event loop by {@link prepare}. From then on it follows all changes.
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

  /** Builds the index in this turn unless it is built already. */
  get(): SortedIndex {
    if (this.#made !== undefined) return this.#made;
    const made = allSteps(this.#steps(new Map()));
    this.set(made);
    return made;
  }

  /**
   * Returns undefined when the index is built. Otherwise the promise resolves when it is, or when its objects were
   * replaced meanwhile: callers check again. Writes during the build are in the finished index.
   */
  prepare(): Promise<void> | undefined {
    if (this.#made !== undefined) return undefined;
    this.#build ??= this.#begin();
    return this.#build.isOver;
  }

  /** Replaces the index when all objects are replaced. Undefined: the index is built when it is next needed. */
  set(made: SortedIndex | undefined): void {
    this.#made = made;
    this.#build = undefined;
  }

  /** The same index for other objects, whose slots come in the order of their names. */
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

  /** Objects that are added meanwhile count as missed changes, whether or not they are among the slots. */
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
      // The values of a slot that has already changed are added by `catchUp`.
      if (!missed.has(slot)) addItems(items, slot, itemsOf(valueList(slot.entry.values[position])));
      if (at % slotsPerStep === 0) yield;
    }
    return items;
  }
}

/** Applies the changes that a build has missed, and those that arrive meanwhile. */
function* catchUp(index: SortedIndex, missed: MissedChanges): Steps<void> {
  while (missed.size > 0) {
    const changes = [...missed];
    missed.clear();
    for (const [at, [slot, { before, after }]] of changes.entries()) {
      if (at > 0 && at % changesPerStep === 0) yield;
      // A value is absent from the index if the slot changed before it was read; removing it then has no effect.
      for (const value of before) index.remove(value, slot);
      for (const value of after) index.insert(value, slot);
    }
  }
}
