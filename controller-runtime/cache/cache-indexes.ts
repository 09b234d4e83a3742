import type { ApiObject } from '../api/index.ts';
import type { KeyedObject } from './handler-event.ts';

/** The values of an index under which an object is found. */
export type IndexFunction<T extends ApiObject> = (object: T) => readonly string[];

interface CacheIndex<T extends ApiObject> {
  readonly valuesOf: IndexFunction<T>;
  readonly keysByValue: Map<string, Set<string>>;
  readonly valuesByKey: Map<string, readonly string[]>;
}

/** Named indexes over the keys of one cache. */
export class CacheIndexes<T extends ApiObject> {
  readonly #indexes = new Map<string, CacheIndex<T>>();
  readonly #report: (error: unknown, index: string) => void;

  /** `report` is called with what index functions throw, and for objects that cannot be read. Must not throw. */
  constructor(report: (error: unknown, index: string) => void) {
    this.#report = report;
  }

  /** True when there are no indexes, so that no object has to be read for them. */
  get isEmpty(): boolean {
    return this.#indexes.size === 0;
  }

  /** Returns whether it is new, and has to be filled. Throws RangeError when another function has the name. */
  add(name: string, valuesOf: IndexFunction<T>): boolean {
    const present = this.#indexes.get(name);
    if (present?.valuesOf === valuesOf) return false;
    if (present !== undefined) throw new RangeError(`another index has the name ${JSON.stringify(name)}`);
    this.#indexes.set(name, { valuesOf, keysByValue: new Map(), valuesByKey: new Map() });
    return true;
  }

  /** The keys under a value. Throws RangeError when there is no index of that name. */
  keys(name: string, value: string): Iterable<string> {
    const index = this.#indexes.get(name);
    if (index === undefined) {
      const names = [...this.#indexes.keys()].join(', ');
      throw new RangeError(`no index has the name ${JSON.stringify(name)}; there are: ${names}`);
    }
    return index.keysByValue.get(value) ?? [];
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
    for (const { keysByValue, valuesByKey } of this.#indexes.values()) {
      keysByValue.clear();
      valuesByKey.clear();
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
  if (values.length === 0) return;
  index.valuesByKey.set(key, values);
  for (const value of values) {
    const keys = index.keysByValue.get(value);
    if (keys === undefined) index.keysByValue.set(value, new Set([key]));
    else keys.add(key);
  }
}

function remove<T extends ApiObject>({ keysByValue, valuesByKey }: CacheIndex<T>, key: string): void {
  for (const value of valuesByKey.get(key) ?? []) {
    const keys = keysByValue.get(value);
    keys?.delete(key);
    if (keys?.size === 0) keysByValue.delete(value);
  }
  valuesByKey.delete(key);
}
