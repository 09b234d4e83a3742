import { nextTurn } from '../turns/next-turn.ts';
import { allSteps } from '../turns/steps.ts';
import type { Steps } from '../turns/steps.ts';
import { buildIndex } from './build-index.ts';
import type { IndexShape, NamedEntries } from './build-index.ts';
import type { EntryTable } from './entry-table.ts';
import { valueList } from './entry.ts';
import type { IndexValue } from './entry.ts';
import { SortedIndex } from './sorted-index.ts';
import { valuesWithout } from './values-without.ts';

/** The number of objects whose missed changes are applied in one step, which takes about a millisecond. */
const changesPerStep = 100;

const noItems: readonly string[] = [];

/** The current objects of a kind. */
export interface CurrentEntries {
  table(): EntryTable;
  /** Returns the entries in the order of their names, as they are at the time of the call. */
  named(): Steps<NamedEntries>;
}

/** A build of the index that is in progress. */
interface Build {
  /** The rows whose items have changed since the build began, and still have to be added to the index. */
  readonly changed: Set<number>;
  /**
   * The index; undefined until the build has added all rows except those in `changed`. While the build then adds the
   * rows in `changed`, a change of any other row updates the index immediately.
   */
  index: SortedIndex | undefined;
  readonly isOver: Promise<void>;
}

/** The values of an object in one index before and after a change; undefined when the object is absent. */
export interface ValueChange {
  readonly before: IndexValue | undefined;
  readonly after: IndexValue | undefined;
}

/**
 * A sorted index that is built from the current objects when it is first needed: in a single step by {@link get}, or in
 * many turns of the event loop by {@link prepare}. From then on, all changes update it.
 */
export class LazyIndex {
  readonly #current: CurrentEntries;
  readonly #shape: IndexShape;
  /** True when the index is built, or is being built. It is a field and not a getter, because each write reads it. */
  follows = false;
  #made: SortedIndex | undefined;
  #build: Build | undefined;

  /** Creates an index that is not built yet. */
  constructor(current: CurrentEntries, shape: IndexShape) {
    this.#current = current;
    this.#shape = shape;
  }

  get isMade(): boolean {
    return this.#made !== undefined;
  }

  /** Returns the index. Builds it in a single step, unless it is already built. */
  get(): SortedIndex {
    if (this.#made !== undefined) return this.#made;
    const build = { changed: new Set<number>(), index: undefined, isOver: Promise.resolve() };
    const made = allSteps(this.#steps(build));
    this.set(made);
    return made;
  }

  /**
   * Builds the index in many turns of the event loop. Returns undefined when it is already built. Otherwise returns a
   * promise that resolves when the index is built. It also resolves when all objects were replaced meanwhile, so
   * callers must check again. The index includes the writes during the build.
   */
  prepare(): Promise<void> | undefined {
    if (this.#made !== undefined) return undefined;
    this.#build ??= this.#begin();
    this.follows = true;
    return this.#build.isOver;
  }

  /**
   * Replaces the index by `made`. It is called when a build has ended, or when all objects are replaced. If `made` is
   * undefined, the index is built when it is next needed.
   */
  set(made: SortedIndex | undefined): void {
    this.#made = made;
    this.#build = undefined;
    this.follows = made !== undefined;
  }

  /**
   * Builds the same index for another set of objects: those of `table`. Does not replace this index: the caller does so
   * with {@link set}.
   */
  *remake(table: EntryTable, entries: NamedEntries): Steps<SortedIndex> {
    return yield* buildIndex(table, entries, { shape: this.#shape, changed: new Set() });
  }

  /**
   * Returns the rows in the order of the index; undefined when the index is not built, or when it stores the value of
   * each item.
   */
  order(): Int32Array | undefined {
    return this.#shape.itemValues === 'stored' ? undefined : this.#made?.rows();
  }

  /** Returns an index of these rows of a table. The rows must be in the order of the index. */
  inOrder(table: EntryTable, rows: Int32Array): SortedIndex {
    const index = new SortedIndex(table, this.#shape.itemValues);
    index.load(rows);
    return index;
  }

  /**
   * Removes the items that the index has for the row before the change, but not after it. Call this before the row
   * changes, and {@link enter} afterward.
   */
  leave(row: number, change: ValueChange): void {
    const index = this.#following(row, change);
    if (index === undefined) return;
    for (const value of this.#itemsWithout(change.before, change.after)) index.remove(value, row);
  }

  /**
   * Inserts the items that the index has for the row after the change, but not before it. Call this after the row has
   * changed.
   */
  enter(row: number, change: ValueChange): void {
    const index = this.#following(row, change);
    if (index === undefined) return;
    for (const value of this.#itemsWithout(change.after, change.before)) index.insert(value, row);
  }

  /**
   * Returns the sorted index that must be updated at once when a row changes. Returns undefined when no update is
   * needed: the index is neither built nor being built, or its build adds this row later, in its new state.
   */
  #following(row: number, change: ValueChange): SortedIndex | undefined {
    if (this.#made !== undefined || this.#build === undefined) return this.#made;
    const { changed, index } = this.#build;
    if (index !== undefined && !changed.has(row)) return index;
    const { before, after } = change;
    if (this.#itemsWithout(before, after).length + this.#itemsWithout(after, before).length > 0) changed.add(row);
    return undefined;
  }

  /** Returns the items of `values` that are not items of `others`. */
  #itemsWithout(values: IndexValue | undefined, others: IndexValue | undefined): readonly string[] {
    const { itemsOf } = this.#shape;
    const items = values === undefined ? noItems : itemsOf(valueList(values));
    if (items.length === 0 || others === undefined) return items;
    return valuesWithout(items, itemsOf(valueList(others)));
  }

  #begin(): Build {
    const build: Build = { changed: new Set(), index: undefined, isOver: Promise.resolve() };
    return Object.assign(build, { isOver: this.#run(this.#steps(build), build) });
  }

  async #run(steps: Steps<SortedIndex>, build: Build): Promise<void> {
    for (;;) {
      await nextTurn();
      if (this.#build !== build) return;
      const step = steps.next();
      if (step.done === true) return this.set(step.value);
    }
  }

  #steps(build: Build): Steps<SortedIndex> {
    // The build begins with the entries of this turn. `changed` collects the rows that change from this turn on.
    return this.#stepsFrom(this.#current.table(), this.#current.named(), build);
  }

  *#stepsFrom(table: EntryTable, entries: Steps<NamedEntries>, build: Build): Steps<SortedIndex> {
    const { changed } = build;
    const index = yield* buildIndex(table, yield* entries, { shape: this.#shape, changed });
    build.index = index;
    let seen = 0;
    // A row may change during this loop. Then its items get into the index immediately, or the row is added at the end
    // of this set, and the loop comes to it later.
    for (const row of changed) {
      if (seen > 0 && seen % changesPerStep === 0) yield;
      seen += 1;
      changed.delete(row);
      if (!table.has(row)) continue;
      const { position, itemsOf } = this.#shape;
      for (const value of itemsOf(valueList(table.entry(row).valueAt(position)))) index.insert(value, row);
    }
    return index;
  }
}
