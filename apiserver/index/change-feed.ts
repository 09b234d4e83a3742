import { ApiError } from '@homeostat/controller-runtime/api';
import { nextTurn } from '../turns/next-turn.ts';
import { footprintOf } from './create-entry.ts';
import type { Entry } from './entry.ts';
import { inBounds } from '../base/in-bounds.ts';

/** One change of one object. */
export type FeedChange =
  | { readonly type: 'ADDED'; readonly revision: number; readonly entry: Entry; readonly previous?: undefined }
  | {
      readonly type: 'MODIFIED' | 'DELETED';
      readonly revision: number;
      /** The new state. For DELETED, the last state, with the revision of the deletion. */
      readonly entry: Entry;
      /** The state before the change. */
      readonly previous: Entry;
    };

export interface ChangeFeedParts {
  /**
   * The revision up to which changes are unknown: the one at which the kind was loaded, or an earlier one if the
   * changes since then are appended next.
   */
  readonly floor: number;
  /** Called with an error that a listener throws. */
  readonly onError: (error: unknown) => void;
}

interface Subscriber {
  readonly listener: (change: FeedChange) => void;
  /** The revision up to which the listener has received all changes from {@link ChangeFeed.since}. */
  readonly after: number;
}

/** The number of differences that are delivered in one turn, which takes a few milliseconds. */
const deliveredPerTurn = 200;

/** The latest changes of one kind, in revision order, and the subscribers to new ones. */
export class ChangeFeed {
  readonly #onError: (error: unknown) => void;
  /** The changes. The window starts at #head; the items before it were trimmed. */
  #changes: (FeedChange | undefined)[] = [];
  #head = 0;
  #floor: number;
  #revision: number;
  #bytes = 0;
  readonly #subscribers = new Set<Subscriber>();
  /** Changes that are queued while listeners are being called. */
  readonly #undelivered: FeedChange[] = [];
  /** The number of queued changes that have been delivered. */
  #delivered = 0;
  #isDelivering = false;

  constructor(parts: ChangeFeedParts) {
    this.#onError = parts.onError;
    this.#floor = parts.floor;
    this.#revision = parts.floor;
  }

  /** The revision of the last change; the floor when there was no change. */
  get revision(): number {
    return this.#revision;
  }

  /** The revision up to which changes were trimmed. */
  get floor(): number {
    return this.#floor;
  }

  /**
   * The number of bytes of the objects in the window. The previous state of a change is not counted, because it was
   * counted when it was the new state.
   */
  get bytes(): number {
    return this.#bytes;
  }

  /** The number of changes in the window. */
  get length(): number {
    return this.#changes.length - this.#head;
  }

  /**
   * Sets the content of the feed from the log. `changes` are the changes after `floor`; earlier changes count as
   * trimmed. Subscribers are not called.
   */
  restore(floor: number, changes: readonly FeedChange[]): void {
    this.#floor = floor;
    this.#revision = floor;
    this.#changes = [];
    this.#head = 0;
    this.#bytes = 0;
    for (const change of changes) this.#push(change);
  }

  /**
   * Moves the feed to a later revision when the changes in between are not known one by one. Readers cannot continue
   * from earlier revisions. Before it resolves, subscribers receive each difference of the objects once. Many
   * differences take many turns of the event loop, and come before any change that is appended meanwhile.
   */
  async leap(revision: number, differences: readonly FeedChange[]): Promise<void> {
    this.restore(revision, []);
    for (const difference of differences) this.#undelivered.push(difference);
    while (this.#delivered + deliveredPerTurn < this.#undelivered.length && this.#deliver(deliveredPerTurn)) {
      // Changes that are appended meanwhile are queued.
      this.#isDelivering = true;
      await nextTurn();
      this.#isDelivering = false;
    }
    this.#deliver();
  }

  /** Appends a change, which must be later than all changes before it. Calls the subscribers before it returns. */
  append(change: FeedChange): void {
    if (change.revision <= this.#revision) {
      throw new RangeError(`change ${change.revision} of ${change.entry.key} comes after revision ${this.#revision}`);
    }
    this.#push(change);
    this.#undelivered.push(change);
    this.#deliver();
  }

  /** Returns the changes after a revision, in order. Throws ApiError Expired when some of them were trimmed. */
  since(revision: number): readonly FeedChange[] {
    if (revision < this.#floor) {
      throw new ApiError('Expired', `too old resource version: ${revision} (${this.#floor})`);
    }
    return this.#changes.slice(this.#firstAfter(revision)).filter((change) => change !== undefined);
  }

  /**
   * Returns the changes of one object, the newest first, with revisions below `before` and above `after`. It examines
   * at most `most` changes of the kind. `next` is the revision from which to continue; undefined at the end.
   */
  changesOf(
    key: string,
    { before, after, most }: { readonly before: number; readonly after: number; readonly most: number },
  ): { readonly changes: readonly FeedChange[]; readonly next: number | undefined } {
    const changes: FeedChange[] = [];
    const end = before === Number.POSITIVE_INFINITY ? this.#changes.length : this.#firstAfter(before - 1);
    const first = Math.max(this.#head, this.#firstAfter(after));
    const last = Math.max(first, end - most);
    for (let i = end - 1; i >= last; i--) {
      const change = inBounds(this.#changes[i]);
      if (change.entry.key === key) changes.push(change);
    }
    return { changes, next: last > first ? inBounds(this.#changes[last]).revision : undefined };
  }

  /**
   * Drops the changes up to a revision. The new floor is the revision of the last dropped change, because a reader that
   * has received this change can continue. Returns the number of bytes that were only in the window.
   */
  trim(upTo: number): number {
    const first = this.#firstAfter(upTo);
    if (first === this.#head) return 0;
    this.#floor = inBounds(this.#changes[first - 1]).revision;
    let freed = 0;
    for (let i = this.#head; i < first; i++) {
      const change = inBounds(this.#changes[i]);
      this.#bytes -= change.entry.size;
      for (const state of formerStates(change)) freed += footprintOf(state);
      this.#changes[i] = undefined;
    }
    this.#head = first;
    // The array is compacted only when half of it is empty, so each change is moved about once.
    if (this.#head * 2 < this.#changes.length) return freed;
    this.#changes = this.#changes.slice(this.#head);
    this.#head = 0;
    return freed;
  }

  /** Yields the states in the window that are no longer the current state of an object, each once. */
  *formerStates(): IterableIterator<Entry> {
    for (const change of this.since(this.#floor)) yield* formerStates(change);
  }

  /** Yields all states in the window: those after and before each change. */
  *states(): IterableIterator<Entry> {
    for (const { entry, previous } of this.since(this.#floor)) {
      if (previous !== undefined) yield previous;
      yield entry;
    }
  }

  /**
   * Calls the listener for each later change, in order, while the change is appended. So a reader that calls `since`
   * and then `subscribe` receives each change exactly once. If a listener throws, the error is reported, and it remains
   * subscribed. Returns a function that unsubscribes.
   */
  subscribe(listener: (change: FeedChange) => void): () => void {
    const subscriber = { listener, after: this.#revision };
    this.#subscribers.add(subscriber);
    return () => void this.#subscribers.delete(subscriber);
  }

  #push(change: FeedChange): void {
    this.#changes.push(change);
    this.#revision = change.revision;
    this.#bytes += change.entry.size;
  }

  /**
   * Delivers queued changes. Returns false when a delivery is already running: a change that a listener causes is
   * queued, so that all listeners receive the changes in the same order.
   */
  #deliver(most = Number.POSITIVE_INFINITY): boolean {
    if (this.#isDelivering) return false;
    this.#isDelivering = true;
    const end = this.#delivered + most;
    while (this.#delivered < Math.min(end, this.#undelivered.length)) {
      const change = inBounds(this.#undelivered[this.#delivered++]);
      for (const { listener, after } of this.#subscribers) {
        if (change.revision <= after) continue;
        try {
          listener(change);
        } catch (error) {
          this.#onError(error);
        }
      }
    }
    if (this.#delivered === this.#undelivered.length) {
      this.#undelivered.length = 0;
      this.#delivered = 0;
    }
    this.#isDelivering = false;
    return true;
  }

  #firstAfter(revision: number): number {
    let low = this.#head;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (inBounds(this.#changes[middle]).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function formerStates({ type, entry, previous }: FeedChange): readonly Entry[] {
  const before = previous === undefined ? [] : [previous];
  return type === 'DELETED' ? [...before, entry] : before;
}
