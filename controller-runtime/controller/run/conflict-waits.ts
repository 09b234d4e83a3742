import { compareRevisions } from '../../cache/compare-revisions.ts';
import { idOf, targetOf, type Target } from './cache-view.ts';
import type { ApiObject } from '../../api/index.ts';
import type { WorkItem } from '../../queue/queue-entry.ts';

/**
 * Called when the wait of a key is over: the cache has a later state of the object whose old state caused the conflict.
 * `priority` is the priority of the run that got the conflict.
 */
type OnPassed = (key: string, priority: number) => void;

interface Wait {
  /** The revision of the old state that caused the conflict. The key waits until the cache has a later state. */
  readonly revision: string;
  readonly priority: number;
}

/**
 * Keys whose runs ended with a conflict: a write required an old revision of an object. Each key waits until the cache
 * has a later state of this object.
 */
export class ConflictWaits {
  /** For each object that caused a conflict: the keys that wait until the cache has a later state of this object. */
  readonly #byTarget = new Map<string, Map<string, Wait>>();
  readonly #targets = new Map<string, string>();
  readonly #onPassed: OnPassed;

  constructor(onPassed: OnPassed) {
    this.#onPassed = onPassed;
  }

  get size(): number {
    return this.#targets.size;
  }

  wait({ key, priority }: Pick<WorkItem, 'key' | 'priority'>, target: Target, revision: string): void {
    this.cancel(key);
    const id = idOf(target);
    const waiting = this.#byTarget.get(id) ?? new Map<string, Wait>();
    waiting.set(key, { revision, priority });
    this.#byTarget.set(id, waiting);
    this.#targets.set(key, id);
  }

  cancel(key: string): void {
    const id = this.#targets.get(key);
    if (id === undefined) return;
    this.#targets.delete(key);
    const waiting = this.#byTarget.get(id);
    waiting?.delete(key);
    if (waiting?.size === 0) this.#byTarget.delete(id);
  }

  /**
   * Called when the cache has delivered a new state of an object. Ends the wait of each key whose conflict an older
   * state of this object caused, and calls `onPassed` for the key.
   */
  observed(object: ApiObject): void {
    if (this.#targets.size === 0) return;
    const waiting = this.#byTarget.get(idOf(targetOf(object)));
    if (waiting === undefined) return;
    // This iterates over a copy, because onPassed may start a run that waits again.
    for (const [key, { revision, priority }] of Array.from(waiting)) {
      if (compareRevisions(object.metadata.resourceVersion, revision) <= 0) continue;
      this.cancel(key);
      this.#onPassed(key, priority);
    }
  }
}
