import type { ApiObject } from '../api/index.ts';
import type { KeyedObject } from './handler-event.ts';

/** Puts the objects of a cache into its indexes, some at a time. */
export class IndexFilling<T extends ApiObject> {
  readonly #states: Iterator<KeyedObject<T>, unknown>;
  readonly #put: (state: KeyedObject<T>) => void;
  readonly #changed = new Set<string>();

  /** `states`: the objects at the time of the call. */
  constructor(states: Iterable<KeyedObject<T>>, put: (state: KeyedObject<T>) => void) {
    this.#states = states[Symbol.iterator]();
    this.#put = put;
  }

  /** Leaves out an object that has changed since: it is indexed as it is now. */
  leaveOut(key: string): void {
    this.#changed.add(key);
  }

  /** Puts the next objects. Returns false once there are no more. */
  putNext(most: number): boolean {
    for (let count = 0; count < most; count += 1) {
      const next: IteratorResult<KeyedObject<T>, unknown> = this.#states.next();
      if (next.done === true) return false;
      if (!this.#changed.has(next.value.key)) this.#put(next.value);
    }
    return true;
  }
}
