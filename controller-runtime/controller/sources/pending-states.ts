import type { ApiObject } from '../../api/index.ts';
import type { Reason } from '../../queue/reason.ts';
import type { WatchSource } from '../definition/followed-kind.ts';

/**
 * The maximum number of states of an object that wait while its mapping does not succeed: the first state, and the last
 * seven.
 */
const maxStates = 8;

/** The states of one object that wait to be mapped, each state once, the oldest first. */
export class PendingStates {
  readonly source: WatchSource;
  #states: readonly ApiObject[] = [];
  /** The highest priority of the watch events that have added states of the object. */
  priority: number = -Infinity;
  /** The reason of the last watch event that has added states of the object. */
  reason: Reason = { type: 'mapping' };

  constructor(source: WatchSource) {
    this.source = source;
  }

  get states(): readonly ApiObject[] {
    return this.#states;
  }

  add(states: readonly ApiObject[], event: { readonly priority: number; readonly reason: Reason }): void {
    for (const state of states) {
      if (!this.#states.some((known) => isSameState(known, state))) this.#states = [...this.#states, state];
    }
    if (this.#states.length > maxStates) this.#states = this.#states.toSpliced(1, this.#states.length - maxStates);
    this.priority = Math.max(this.priority, event.priority);
    this.reason = event.reason;
  }
}

function isSameState(a: ApiObject, b: ApiObject): boolean {
  return a.metadata.resourceVersion === b.metadata.resourceVersion && a.metadata.uid === b.metadata.uid;
}
