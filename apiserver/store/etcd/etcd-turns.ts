import type { Clock } from '@homeostat/controller-runtime/api';

import type { Head } from './head.ts';
import { BoundedWait } from '../server/bounded-wait.ts';

/**
 * The length of the period in which a store keeps to the order of writers (see {@link EtcdTurns}): before each write,
 * it waits while it is another store's turn. The period starts again when a write of the store fails because another
 * store wrote first, when a write has to wait, and when the store sees that another store has requested a place in the
 * order.
 */
const contendedMs = 1_000;

/**
 * The minimum time that another store gets for its write when its turn has come. After that, this store writes without
 * waiting for the other. If writes are slow, the time is {@link writesOfPatience} times the duration of this store's
 * last write.
 */
const leastPatienceMs = 50;
const writesOfPatience = 5;

/** The maximum time that a store waits for its turn before it tries to write. */
const longestWaitMs = 1_000;

/** The maximum number of stores that take turns to write. Further stores write without turns. */
const maxStores = 16;

export interface EtcdTurnsParts {
  /** The id of this `EtcdStore` instance. */
  readonly id: string;
  readonly clock: Clock;
}

/**
 * Keeps the order in which competing stores write. The value of the etcd key `head` has the ids of the stores, in the
 * order of their next writes. If the write of a store fails because another store wrote first, the store requests a
 * place in the order. A store that is the next one, but does not write in time, loses its place. The order only avoids
 * attempts that would fail: writes are correct without it.
 */
export class EtcdTurns {
  readonly #parts: EtcdTurnsParts;
  readonly #seen: BoundedWait;
  #head: Pick<Head, 'epoch' | 'revision' | 'commit' | 'turns'> = { epoch: '', revision: 0, commit: '', turns: [] };
  #seenMs = Number.NEGATIVE_INFINITY;
  #contendedUntilMs = Number.NEGATIVE_INFINITY;
  #patienceMs: number = leastPatienceMs;

  constructor(parts: EtcdTurnsParts) {
    this.#parts = parts;
    this.#seen = new BoundedWait(parts.clock);
  }

  /** The revision in the latest value of the key `head` that {@link see} has received. */
  get revision(): number {
    return this.#head.revision;
  }

  /**
   * Records a value of the etcd key `head` that this store has written, or has received from its watch. Ignores a value
   * that is older than the recorded one. After a new value, a waiting write checks again whether it is its turn.
   */
  see(head: Pick<Head, 'epoch' | 'revision' | 'commit' | 'turns'>): void {
    const isOlder = head.epoch === this.#head.epoch && head.revision < this.#head.revision;
    if (isOlder || head.commit === this.#head.commit) return;
    this.#head = head;
    this.#seenMs = this.#parts.clock.monotonicMs();
    this.#seen.release();
  }

  /** Called when a write has failed because another store was first. */
  lost(): void {
    this.#contendedUntilMs = this.#parts.clock.monotonicMs() + contendedMs;
  }

  /** Records the time that a write took. */
  wrote(durationMs: number): void {
    this.#patienceMs = Math.max(leastPatienceMs, writesOfPatience * durationMs);
  }

  /**
   * Resolves immediately while stores do not compete; otherwise when it is this store's turn, or when the store whose
   * turn it is does not write in time. The result is true if this store had to wait.
   */
  async wait(): Promise<boolean> {
    const { clock } = this.#parts;
    const startMs = clock.monotonicMs();
    for (let hasWaited = false; ; hasWaited = true) {
      const nowMs = clock.monotonicMs();
      const restMs = Math.min(this.#seenMs + this.#patienceMs, startMs + longestWaitMs) - nowMs;
      if (nowMs >= this.#contendedUntilMs || !this.#isTurnOfOther() || restMs <= 0) return hasWaited;
      this.#contendedUntilMs = nowMs + contendedMs;
      await this.#seen.wait(restMs);
    }
  }

  /** Returns true if this store is not among the stores that take turns to write, which the head lists in `turns`. */
  needsPlace({ turns }: Pick<Head, 'turns'>): boolean {
    return !turns.includes(this.#parts.id);
  }

  /**
   * Returns the order in which the stores write after the next write of this store. This store comes last. `asking`
   * are the stores that have requested a place in the order.
   */
  next({ turns }: Pick<Head, 'turns'>, asking: readonly string[]): readonly string[] {
    const { id } = this.#parts;
    if (asking.some((each) => each !== id)) this.lost();
    // This store has written although other stores stand before it in the order. Those did not use their turns to
    // write, so they are removed from the order.
    const others = [...turns.slice(turns.indexOf(id) + 1), ...asking].filter((each) => each !== id);
    return [...[...new Set(others)].slice(0, maxStores - 1), id];
  }

  #isTurnOfOther(): boolean {
    const [next] = this.#head.turns;
    return next !== undefined && next !== this.#parts.id;
  }
}
