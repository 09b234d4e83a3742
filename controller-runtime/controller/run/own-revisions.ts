import { compareRevisions } from '../../cache/compare-revisions.ts';

/**
 * The maximum number of keys with remembered revisions. No event arrives for some writes: those that changed nothing,
 * and those of objects that a source does not select. Beyond this number, the oldest key is forgotten; the event of
 * its write then counts as the change of another writer, which only causes one more run.
 */
const maxKeys = 10_000;

interface KeyRevisions {
  /** The number of writes that have no response yet. */
  inFlight: number;
  /** The revisions that the controller wrote. */
  readonly own: Set<string>;
  /** The object's revision in the newest watch event that {@link OwnRevisions.observed} got for this key. */
  seen: string;
  /** True when an event showed that the object is deleted, and no write has begun since. */
  isGone: boolean;
  /**
   * The events that arrived while a write was in flight. The response to the write shows which of them the write
   * caused.
   */
  readonly undecided: { readonly revision: string; readonly ifForeign: () => void }[];
}

/**
 * Distinguishes events of the controller's own writes from events of other writes. When client and server are in one
 * process, an event may arrive before the response to the write that caused it; the decision then waits for the
 * response.
 */
export class OwnRevisions {
  readonly #keys = new Map<string, KeyRevisions>();

  /** The number of keys with remembered revisions. */
  get size(): number {
    return this.#keys.size;
  }

  /** The number of events that wait for the response to a write. */
  get undecided(): number {
    let count = 0;
    for (const state of this.#keys.values()) count += state.undecided.length;
    return count;
  }

  /**
   * Runs a write of the object under this key. `revisionOf` returns the revision that the write created; undefined when
   * it created none, or when the result has changes by other clients, too.
   */
  async write<R>(key: string, send: () => Promise<R>, revisionOf: (result: R) => string | undefined): Promise<R> {
    const state = this.#stateOf(key);
    state.inFlight += 1;
    state.isGone = false;
    let revision: string | undefined;
    try {
      const result = await send();
      revision = revisionOf(result);
      return result;
    } finally {
      state.inFlight -= 1;
      if (revision !== undefined) state.own.add(revision);
      if (state.inFlight === 0) this.#decideAll(key, state);
      if (this.#keys.size > maxKeys) this.#forgetOldest();
    }
  }

  /**
   * Calls `ifForeign` if the controller did not write the revision. The call is made at once, or after the responses to
   * the writes in flight.
   */
  decide(key: string, revision: string, ifForeign: () => void): void {
    const state = this.#keys.get(key);
    if (state === undefined) return ifForeign();
    if (state.own.has(revision)) return;
    if (state.inFlight > 0) state.undecided.push({ revision, ifForeign });
    else ifForeign();
  }

  /**
   * Call this for each event of the object, after `decide`. Forgets the revisions of the controller's own writes up to
   * the revision of this event, because no later event has them. After a deletion, forgets the revisions of all own
   * writes of the object.
   */
  observed(key: string, revision: string, isGone = false): void {
    const state = this.#keys.get(key);
    if (state === undefined) return;
    state.seen = revision;
    state.isGone = isGone;
    this.#prune(key, state);
  }

  #decideAll(key: string, state: KeyRevisions): void {
    for (const { revision, ifForeign } of state.undecided.splice(0)) {
      if (!state.own.has(revision)) ifForeign();
    }
    this.#prune(key, state);
  }

  #prune(key: string, state: KeyRevisions): void {
    if (state.inFlight > 0) return;
    for (const revision of state.own) {
      if (state.isGone || compareRevisions(revision, state.seen) <= 0) state.own.delete(revision);
    }
    if (state.own.size === 0) this.#keys.delete(key);
  }

  /** Forgets the oldest key that has no write in flight. */
  #forgetOldest(): void {
    for (const [key, { inFlight }] of this.#keys) {
      if (inFlight === 0) return void this.#keys.delete(key);
    }
  }

  #stateOf(key: string): KeyRevisions {
    let state = this.#keys.get(key);
    if (state === undefined) {
      state = { inFlight: 0, own: new Set(), seen: '0', isGone: false, undecided: [] };
      this.#keys.set(key, state);
    }
    return state;
  }
}
