import { compareRevisions } from '../../cache/compare-revisions.ts';

interface KeyRevisions {
  /** Writes without a response so far. */
  inFlight: number;
  /** Revisions that writes of ours made. */
  readonly own: Set<string>;
  /** The newest revision seen in an event. */
  seen: string;
  /** The object was seen to be gone, and no write has begun since. */
  isGone: boolean;
  /** Events that came while a write was in flight: only its response tells whose they are. */
  readonly undecided: { readonly revision: string; readonly ifForeign: () => void }[];
}

/**
 * Tells events of the controller's own writes from those of others. In process an event may come before the response
 * to the write that caused it: the decision then waits for the response.
 */
export class OwnRevisions {
  readonly #keys = new Map<string, KeyRevisions>();

  /** Keys with revisions that are remembered. */
  get size(): number {
    return this.#keys.size;
  }

  /** Events that wait for the response to a write. */
  get undecided(): number {
    let count = 0;
    for (const state of this.#keys.values()) count += state.undecided.length;
    return count;
  }

  /**
   * Runs a write of the object under this key. `revisionOf` returns the revision that the write made; undefined when
   * it made none, or when others had a part in what came out.
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
    }
  }

  /** Calls back, now or once the writes in flight have their responses, when the revision is not of our making. */
  decide(key: string, revision: string, ifForeign: () => void): void {
    const state = this.#keys.get(key);
    if (state === undefined) return ifForeign();
    if (state.own.has(revision)) return;
    if (state.inFlight > 0) state.undecided.push({ revision, ifForeign });
    else ifForeign();
  }

  /**
   * An event showed this revision of the object: older ones never come again; of an object that is gone, none. Call it
   * after `decide`.
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

  #stateOf(key: string): KeyRevisions {
    let state = this.#keys.get(key);
    if (state === undefined) {
      state = { inFlight: 0, own: new Set(), seen: '0', isGone: false, undecided: [] };
      this.#keys.set(key, state);
    }
    return state;
  }
}
