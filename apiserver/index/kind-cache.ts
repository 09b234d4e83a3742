import type { ApiObject, IndexSpec, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { IndexSpec as Spec } from '@homeostat/controller-runtime/api';
import { allSteps } from '../turns/steps.ts';
import type { Steps } from '../turns/steps.ts';
import { isBroken } from './broken-entry.ts';
import type { BrokenEntry } from './broken-entry.ts';
import { alreadyInNameOrder, inNameOrder } from './build-index.ts';
import type { NamedEntries } from './build-index.ts';
import { EntryTable } from './entry-table.ts';
import type { EntryPlaces } from './entry-places.ts';
import { entryIn } from './create-entry.ts';
import { valueList } from './entry.ts';
import type { Entry, IndexValue, IndexValues } from './entry.ts';
import { StoredEntry } from './stored-entry.ts';
import { KindIndex } from './kind-index.ts';
import type { MadeParts } from './kind-index.ts';
import type { ValueChange } from './lazy-index.ts';
import { Slabs } from './slabs.ts';
import { valuesWithout } from './values-without.ts';

/** One value of one unique index. */
export interface UniqueValue {
  readonly index: string;
  readonly value: string;
}

/** The whole content of a {@link KindCache}. */
export interface CacheContents {
  readonly table: EntryTable;
  readonly broken: Map<string, BrokenEntry>;
  /** The memory of all objects, in bytes. */
  readonly size: number;
  /** The built parts of each index, in the order of {@link KindCache.indexes}. */
  readonly indexes: readonly MadeParts[];
}

/**
 * The current objects of one kind, and their indexes. Every change is synchronous, and complete when it returns, so a
 * reader never finds an object in only some of its indexes.
 */
export class KindCache {
  readonly descriptor: ModelDescriptor;
  /** The indexes in the order of {@link Entry.values}. */
  readonly indexes: readonly KindIndex[];
  /** The memory of the bytes and records of entries. */
  readonly slabs: Slabs = new Slabs();
  readonly #byName: ReadonlyMap<string, KindIndex>;
  readonly #unique: readonly KindIndex[];
  #table = new EntryTable();
  #broken = new Map<string, BrokenEntry>();

  /**
   * Creates an empty cache. @param indexes the default indexes and the declared ones, with distinct names. A namespaced
   * kind also gets the index `metadata.namespace`.
   */
  constructor(descriptor: ModelDescriptor, indexes: readonly IndexSpec[]) {
    const hasNamespace = indexes.some((spec) => spec.name === namespaceIndex.name);
    const specs = descriptor.scope === 'Namespaced' && !hasNamespace ? [...indexes, namespaceIndex] : indexes;
    this.descriptor = descriptor;
    const current = { table: () => this.#table, named: () => this.#named() };
    this.indexes = specs.map((spec, position) => new KindIndex(spec, position, current));
    this.#byName = new Map(this.indexes.map((index) => [index.spec.name, index]));
    // `metadata.name` is left out, because a name is unique only in its namespace, which the key already ensures.
    this.#unique = this.indexes.filter((index) => index.spec.unique && index.spec.name !== 'metadata.name');
  }

  get size(): number {
    return this.#table.size;
  }

  /**
   * Returns the number of objects in a namespace, in O(log n). If the index of namespaces is not built, returns the
   * number of objects in all namespaces.
   */
  sizeIn(namespace: string): number {
    const index = this.#byName.get(namespaceIndex.name);
    if (index?.isMade !== true) return this.size;
    const { from, to } = index.values.rangeOf(namespace);
    return to - from;
  }

  index(name: string): KindIndex | undefined {
    return this.#byName.get(name);
  }

  get(key: string): Entry | undefined {
    const row = this.#table.find(key);
    return row < 0 ? undefined : this.#table.entry(row);
  }

  /** The stored objects that cannot be read, by key. They are neither in an index nor among the entries. */
  get broken(): ReadonlyMap<string, BrokenEntry> {
    return this.#broken;
  }

  /** Returns all entries, in no particular order. */
  entries(): IterableIterator<StoredEntry> {
    return this.#table.entries();
  }

  /** Returns the entries as they are now, in no particular order. */
  places(): EntryPlaces {
    return this.#table.placesOf(this.#table.rows());
  }

  /** The table that has one row for each stored object of the kind. */
  get table(): EntryTable {
    return this.#table;
  }

  /** Computes the index values of an object, without storing them. Throws IndexValueError. */
  draft(object: ApiObject): IndexValues {
    const values: IndexValue[] = [];
    for (const index of this.indexes) values.push(index.compute(object));
    return values;
  }

  /**
   * Returns the first of these values that another object has in a unique index; undefined when there is none. `key` is
   * the key of the object with these values, `holder` that of the other object.
   */
  uniqueHolder(values: IndexValues, key: string): (UniqueValue & { readonly holder: string }) | undefined {
    for (const index of this.#unique) {
      for (const value of valueList(values[index.position])) {
        const holder = findOther(index, value, key);
        if (holder !== undefined) return { index: index.spec.name, value, holder };
      }
    }
    return undefined;
  }

  /** Returns the unique values that an object with these index values claims. */
  claims(values: IndexValues): readonly UniqueValue[] {
    return this.#unique.flatMap((index) => claimsOf(index, values));
  }

  /**
   * Returns how a write changes an object's claims. `before` or `after` is undefined when the object is absent before
   * or after the write.
   */
  claimChanges(
    before: IndexValues | undefined,
    after: IndexValues | undefined,
  ): { readonly add: readonly UniqueValue[]; readonly remove: readonly UniqueValue[] } {
    const add: UniqueValue[] = [];
    const remove: UniqueValue[] = [];
    for (const index of this.#unique) {
      const old = valueList(before?.[index.position]);
      const current = valueList(after?.[index.position]);
      add.push(...claimsIn(index, current, old));
      remove.push(...claimsIn(index, old, current));
    }
    return { add, remove };
  }

  /**
   * Returns a value that two objects have in a unique index, and the keys of these objects; undefined when there is no
   * such value. It is called while a kind is opened.
   */
  *duplicate(): Steps<(UniqueValue & { readonly keys: readonly [string, string] }) | undefined> {
    for (const index of this.#unique) {
      const found = yield* duplicateIn(index);
      if (found !== undefined) return { index: index.spec.name, ...found };
    }
    return undefined;
  }

  /** Replaces the whole content in a single step. Entries must have distinct keys. */
  load(entries: Iterable<Entry>): void {
    allSteps(this.loadSteps(entries));
  }

  /** Replaces the whole content in steps, for a cache that has no readers yet. */
  *loadSteps(entries: Iterable<Entry>): Steps<void> {
    this.take(yield* this.contentsOf(entries));
  }

  /**
   * Creates new content for this cache from `entries`, in steps, while the current content remains in use. Of each
   * index, it builds the parts that the current content has. It also builds {@link KindIndex.values} of each index,
   * unless {@link isMadeOnDemand} is true for the index.
   */
  *contentsOf(entries: Iterable<Entry>): Steps<CacheContents> {
    const broken = new Map<string, BrokenEntry>();
    const table = new EntryTable();
    let seen = 0;
    let size = 0;
    for (const entry of entries) {
      if (isBroken(entry)) broken.set(entry.key, entry);
      else {
        const stored = entryIn(this.slabs, entry);
        table.add(stored);
        size += stored.footprint;
      }
      seen += 1;
      if (seen % entriesPerStep === 0) yield;
    }
    const named = yield* inNameOrder(table);
    const indexes: MadeParts[] = [];
    for (const index of this.indexes) indexes.push(yield* index.remake(table, named, !isMadeOnDemand(index)));
    return { table, broken, size, indexes };
  }

  /** Replaces the whole content by the result of {@link contentsOf}. */
  take({ table, broken, size, indexes }: CacheContents): void {
    this.slabs.seal();
    this.slabs.settle(size, 0);
    this.#table = table;
    this.#broken = broken;
    for (const index of this.indexes) index.take(indexes[index.position] ?? []);
  }

  /** Stores an entry and returns the one that it replaces. */
  put(entry: Entry, key: string = entry.key): Entry | undefined {
    const stored = entry instanceof StoredEntry ? entry : entryIn(this.slabs, entry);
    if (this.#broken.size > 0) this.#broken.delete(key);
    const row = this.#table.find(key);
    if (row >= 0) return this.#replace(row, stored);
    const added = this.#table.add(stored, key);
    for (const index of this.indexes)
      if (index.follows) index.enter(added, { before: undefined, after: stored.valueAt(index.position) });
    return undefined;
  }

  /**
   * Returns the entries in the order of their names. This order comes from the index of names, if that index is built;
   * otherwise, the entries are sorted.
   */
  #named(): Steps<NamedEntries> {
    const rows = this.#byName.get('metadata.name')?.orders()[0];
    return rows === undefined ? inNameOrder(this.#table) : alreadyInNameOrder(this.#table, rows);
  }

  // A write that does not change the values of an index does not touch the index. So the write of a new status in a
  // kind with nine indexes took 9 µs instead of 40.
  #replace(row: number, stored: StoredEntry): Entry {
    const before = this.#table.entry(row);
    const left: { readonly index: KindIndex; readonly change: ValueChange }[] = [];
    for (const index of this.indexes) {
      const { position } = index;
      if (!index.follows || stored.hasSameValues(position, before)) continue;
      const change = { before: before.valueAt(position), after: stored.valueAt(position) };
      index.leave(row, change);
      left.push({ index, change });
    }
    this.#table.replace(row, stored);
    for (const { index, change } of left) index.enter(row, change);
    return before;
  }

  /** Adds a stored object that cannot be read. */
  putBroken(entry: BrokenEntry): void {
    this.remove(entry.key);
    this.#broken.set(entry.key, entry);
  }

  /** Removes an object, and returns its entry; undefined when there was none. */
  remove(key: string): Entry | undefined {
    if (this.#broken.size > 0) this.#broken.delete(key);
    const row = this.#table.find(key);
    if (row < 0) return undefined;
    const before = this.#table.entry(row);
    for (const index of this.indexes)
      if (index.follows) index.leave(row, { before: before.valueAt(index.position), after: undefined });
    this.#table.remove(row);
    return before;
  }
}

const namespaceIndex = new Spec({
  name: 'metadata.namespace',
  indexFunc: {
    multiValued: false,
    definition: 'namespace 1',
    valuesOf: ({ metadata }) => (metadata.namespace === undefined ? [] : [metadata.namespace]),
  },
});

/** The number of objects that are loaded in one step, which takes about a millisecond. */
const entriesPerStep = 1000;

// Many kinds never use these indexes. Until the first use, writes do not maintain them (a creation in the benchmarks
// updates 3 indexes instead of 7).
const madeOnDemand: ReadonlySet<string> = new Set([
  'metadata.name',
  'metadata.labels',
  'metadata.creationTimestamp',
  'metadata.deletionTimestamp',
]);

export function isMadeOnDemand({ spec }: KindIndex): boolean {
  return madeOnDemand.has(spec.name);
}

function claimsOf(index: KindIndex, values: IndexValues): readonly UniqueValue[] {
  return claimsIn(index, valueList(values[index.position]), []);
}

function claimsIn(index: KindIndex, values: readonly string[], except: readonly string[]): readonly UniqueValue[] {
  return valuesWithout(values, except).map((value) => ({ index: index.spec.name, value }));
}

function findOther(index: KindIndex, value: string, key: string): string | undefined {
  const end = index.values.rankAfter(value);
  for (let rank = index.values.rankOf(value); rank < end; rank++) {
    const holder = index.values.entryAt(rank).key;
    if (holder !== key) return holder;
  }
  return undefined;
}

function* duplicateIn(index: KindIndex): Steps<{ value: string; keys: readonly [string, string] } | undefined> {
  const { values } = index;
  let found: { value: string; keys: readonly [string, string] } | undefined;
  let last: { readonly value: string; readonly rank: number } | undefined;
  for (let from = 0; from < values.size && found === undefined; from += entriesPerStep) {
    values.forEachValue(from, from + entriesPerStep, (value, rank) => {
      if (last?.value === value) found = { value, keys: [values.entryAt(last.rank).key, values.entryAt(rank).key] };
      last = { value, rank };
      return found === undefined;
    });
    yield;
  }
  return found;
}
