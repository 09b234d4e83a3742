import type { ApiObject } from '../api/index.ts';
import type { KeyedObject } from './handler-event.ts';

/** A function that returns the values under which an index finds an object. */
export type IndexFunction<T extends ApiObject> = (object: T) => readonly string[];

/**
 * The keys of the objects that an index has under one value. Up to 16 keys are an array, larger groups are a set: three
 * keys take 80 bytes in an array, and 160 bytes in a set.
 */
interface Group {
  readonly value: string;
  keys: readonly string[] | Set<string>;
}

type Groups = readonly Group[];

interface CacheIndex<T extends ApiObject> {
  readonly valuesOf: IndexFunction<T>;
  readonly groups: Map<string, Group>;
  /** For each key, its groups: one for each value under which the index finds the object. Most keys have one group. */
  readonly groupsByKey: Map<string, Group | Groups>;
}

const mostKeysOfArray = 16;

/** Named indexes over the keys of one cache. */
export class CacheIndexes<T extends ApiObject> {
  readonly #indexes = new Map<string, CacheIndex<T>>();
  readonly #report: (error: unknown, index: string) => void;

  /**
   * `report` is called with the error when an index function throws, or an object cannot be read. It must not throw.
   */
  constructor(report: (error: unknown, index: string) => void) {
    this.#report = report;
  }

  /** True when there are no indexes, so that the informer need not read the objects. */
  get isEmpty(): boolean {
    return this.#indexes.size === 0;
  }

  /**
   * Adds an index. Returns true when the index is new; then the caller must fill it. Throws RangeError when an index
   * with this name has another function.
   */
  add(name: string, valuesOf: IndexFunction<T>): boolean {
    const present = this.#indexes.get(name);
    if (present?.valuesOf === valuesOf) return false;
    if (present !== undefined) throw new RangeError(`another index has the name ${JSON.stringify(name)}`);
    this.#indexes.set(name, { valuesOf, groups: new Map(), groupsByKey: new Map() });
    return true;
  }

  /** Returns the keys that an index has under a value. Throws RangeError when there is no index of that name. */
  keys(name: string, value: string): Iterable<string> {
    const index = this.#indexes.get(name);
    if (index === undefined) {
      const names = [...this.#indexes.keys()].join(', ');
      throw new RangeError(`no index has the name ${JSON.stringify(name)}; there are: ${names}`);
    }
    return index.groups.get(value)?.keys ?? [];
  }

  put(state: KeyedObject<T>): void {
    const { key } = state;
    for (const [name, index] of this.#indexes) {
      remove(index, key);
      insert(index, key, this.#valuesOf(name, index, state));
    }
  }

  delete(key: string): void {
    for (const index of this.#indexes.values()) remove(index, key);
  }

  clear(): void {
    for (const { groups, groupsByKey } of this.#indexes.values()) {
      groups.clear();
      groupsByKey.clear();
    }
  }

  #valuesOf(name: string, { valuesOf }: CacheIndex<T>, state: KeyedObject<T>): readonly string[] {
    try {
      return [...valuesOf(state.object)];
    } catch (error) {
      this.#report(error, name);
      return [];
    }
  }
}

function insert<T extends ApiObject>(index: CacheIndex<T>, key: string, values: readonly string[]): void {
  const [first, ...others] = values.length < 2 ? values : new Set(values);
  if (first === undefined) return;
  const group = addTo(index, first, key);
  index.groupsByKey.set(key, others.length === 0 ? group : [group, ...others.map((value) => addTo(index, value, key))]);
}

function addTo<T extends ApiObject>({ groups }: CacheIndex<T>, value: string, key: string): Group {
  const group = groups.get(value);
  if (group === undefined) {
    const created = { value, keys: [key] };
    groups.set(value, created);
    return created;
  }
  if (group.keys instanceof Set) group.keys.add(key);
  // This uses `concat`, because its result has no spare capacity; `push` would reserve memory for 16 more keys.
  else if (group.keys.length < mostKeysOfArray) group.keys = group.keys.concat(key);
  else group.keys = new Set(group.keys).add(key);
  return group;
}

function remove<T extends ApiObject>(index: CacheIndex<T>, key: string): void {
  const found = index.groupsByKey.get(key);
  if (found === undefined) return;
  index.groupsByKey.delete(key);
  for (const group of 'value' in found ? [found] : found) {
    if (removeFrom(group, key) === 0) index.groups.delete(group.value);
  }
}

/** Removes a key, and returns how many keys are left. */
function removeFrom(group: Group, key: string): number {
  if (group.keys instanceof Set) {
    group.keys.delete(key);
    return group.keys.size;
  }
  group.keys = group.keys.filter((each) => each !== key);
  return group.keys.length;
}
