import { ApiError } from '@homeostat/controller-runtime/api';
import { nextTurn } from '../turns/next-turn.ts';
import { ChangeWindow } from './change-window.ts';
import type { Entry } from './entry.ts';
import type { FeedChange } from './feed-change.ts';
import { inBounds } from '../base/in-bounds.ts';

export interface ChangeFeedParts {
  /**
   * The feed has no changes up to this revision. Usually it is the revision at which the kind was loaded. It may be an
   * earlier one, if the caller then appends the changes between the two revisions.
   */
  readonly floor: number;
  /** Called with an error that a listener throws. */
  readonly onError: (error: unknown) => void;
}

interface Subscriber {
  readonly listener: (change: FeedChange) => void;
  /**
   * The revision of the feed at the time of the subscription. The listener is called only for later changes. The
   * subscriber reads the earlier changes with {@link ChangeFeed.since}.
   */
  readonly after: number;
}

/**
 * The number of changed objects that {@link ChangeFeed.leap} reports to subscribers in one turn, which takes a few
 * milliseconds. `leap` moves from one state of the kind to a later one whose single changes are unknown.
 */
const deliveredPerTurn = 200;

/** The latest changes of one kind, in revision order, and the subscribers to new ones. */
export class ChangeFeed {
  readonly #onError: (error: unknown) => void;
  readonly #window = new ChangeWindow();
  #floor: number;
  #revision: number;
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

  /** The revision of the last change. Before the first change: {@link floor}, after which the changes begin. */
  get revision(): number {
    return this.#revision;
  }

  /** The feed has all changes after this revision, and none up to it. */
  get floor(): number {
    return this.#floor;
  }

  /**
   * The total size, in bytes, of the objects after each change in the window. The object before a change is not
   * counted: it is the result of an earlier change, or was loaded with the kind.
   */
  get bytes(): number {
    return this.#window.bytes;
  }

  /** The number of changes in the window. */
  get length(): number {
    return this.#window.length;
  }

  /**
   * Sets the content of the feed from the log. `changes` are the changes after `floor`; earlier changes count as
   * trimmed. Subscribers are not called.
   */
  restore(floor: number, changes: readonly FeedChange[]): void {
    this.#floor = floor;
    this.#window.clear();
    for (const change of changes) this.#window.push(change);
    this.#revision = changes.at(-1)?.revision ?? floor;
  }

  /**
   * Moves the feed to a later revision when the single changes up to it are unknown, and only the differences between
   * the two states are known. Readers cannot continue from earlier revisions. Subscribers receive each difference once,
   * before any change that is appended meanwhile, and before the promise resolves. Many differences take many turns of
   * the event loop.
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

  /**
   * Appends a change, which must be later than all changes before it. Calls the subscribers before it returns, unless
   * other changes are just being delivered: then the subscribers receive this change after those.
   */
  append(change: FeedChange): void {
    if (change.revision <= this.#revision) {
      throw new RangeError(
        `change ${change.revision} of ${change.entry.key} must be later than revision ${this.#revision}`,
      );
    }
    this.#window.push(change);
    this.#revision = change.revision;
    this.#undelivered.push(change);
    this.#deliver();
  }

  /**
   * Iterates over the changes after a revision, in order. The caller must end the iteration in the same turn of the
   * event loop. A packed change becomes an object when the caller takes it. So a caller that stops early pays only for
   * the changes that it has taken. Throws ApiError Expired when some of the changes were trimmed.
   */
  since(revision: number): IterableIterator<FeedChange> {
    if (revision < this.#floor) {
      throw new ApiError('Expired', `too old resource version: ${revision} (${this.#floor})`);
    }
    return this.#window.from(this.#window.firstAfter(revision));
  }

  /** Returns the number of changes after a revision that are in the window. */
  countSince(revision: number): number {
    return this.#window.length - this.#window.firstAfter(revision);
  }

  /**
   * Returns the changes of one object, the newest first, with revisions below `before` and above `after`. It examines
   * at most `most` changes of the kind. `next` is the value of `before` for the next call; undefined when no change is
   * left.
   */
  changesOf(
    key: string,
    { before, after, most }: { readonly before: number; readonly after: number; readonly most: number },
  ): { readonly changes: readonly FeedChange[]; readonly next: number | undefined } {
    const window = this.#window;
    const changes: FeedChange[] = [];
    const end = before === Number.POSITIVE_INFINITY ? window.length : window.firstAfter(before - 1);
    const first = window.firstAfter(after);
    const last = Math.max(first, end - most);
    for (let position = end - 1; position >= last; position -= 1)
      if (window.isOf(position, key)) changes.push(window.at(position));
    return { changes, next: last > first ? window.revisionAt(last) : undefined };
  }

  /**
   * Drops the changes up to a revision. Raises {@link floor} to the revision of the last dropped change: a reader that
   * has received this change can still resume. Returns the memory, in bytes, of the states that only the dropped
   * changes used.
   */
  trim(upTo: number): number {
    const count = this.#window.firstAfter(upTo);
    if (count === 0) return 0;
    this.#floor = this.#window.revisionAt(count - 1);
    return this.#window.drop(count);
  }

  /** Iterates over the states in the window that are no longer current, each once. */
  formerStates(): IterableIterator<Entry> {
    return this.#window.formerStates();
  }

  /**
   * Iterates over the states of objects in the window: those before and those after each change. The caller may move
   * the record of a state to another place in memory before it takes the next state.
   */
  states(): IterableIterator<Entry> {
    return this.#window.states();
  }

  /**
   * Calls the listener for each later change, in order. So a reader that calls `since` and then `subscribe` in the same
   * turn receives each change exactly once. If a listener throws, the error is reported, and the listener remains
   * subscribed. Returns a function that unsubscribes.
   */
  subscribe(listener: (change: FeedChange) => void): () => void {
    const subscriber = { listener, after: this.#revision };
    this.#subscribers.add(subscriber);
    return () => void this.#subscribers.delete(subscriber);
  }

  /**
   * Delivers at most `most` queued changes. Returns false when a delivery is already running: a change that a listener
   * causes is queued, so that all listeners receive the changes in the same order.
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
}
