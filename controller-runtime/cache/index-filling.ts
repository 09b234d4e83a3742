import type { ApiObject, Clock } from '../api/index.ts';
import type { KeyedObject } from './handler-event.ts';

/** The maximum number of objects that are indexed in one turn of the event loop. */
const putPerTurn = 200;

/**
 * The time after which the filling pauses until the next turn of the event loop. Reading an object of the usual size
 * takes 25 µs; reading a large object takes many steps of a millisecond each.
 */
const msPerTurn = 1;

/** Puts the objects of a cache into its indexes, some in each turn of the event loop. */
export class IndexFilling<T extends ApiObject> {
  readonly #states: Iterator<KeyedObject<T> | undefined, unknown>;
  readonly #put: (state: KeyedObject<T>) => void;
  readonly #changed = new Set<string>();

  /**
   * `states` yields the objects in their state when this filling is created. While `states` reads a large object, it
   * yields undefined several times; the filling may pause after each.
   */
  constructor(states: Iterable<KeyedObject<T> | undefined>, put: (state: KeyedObject<T>) => void) {
    this.#states = states[Symbol.iterator]();
    this.#put = put;
  }

  /**
   * Leaves out an object that has changed since the filling began, because its current state was indexed when it
   * changed.
   */
  leaveOut(key: string): void {
    this.#changed.add(key);
  }

  /** Puts as many objects into the indexes as are allowed in one turn. Returns false once no objects are left. */
  putSome(clock: Pick<Clock, 'monotonicMs'>): boolean {
    const endMs = clock.monotonicMs() + msPerTurn;
    for (let count = 0; count < putPerTurn; count += 1) {
      if (!this.#putNext()) return false;
      if (clock.monotonicMs() >= endMs) return true;
    }
    return true;
  }

  /** Puts all remaining objects into the indexes. */
  putAll(): void {
    while (this.#putNext());
  }

  #putNext(): boolean {
    const next: IteratorResult<KeyedObject<T> | undefined, unknown> = this.#states.next();
    if (next.done === true) return false;
    if (next.value !== undefined && !this.#changed.has(next.value.key)) this.#put(next.value);
    return true;
  }
}
