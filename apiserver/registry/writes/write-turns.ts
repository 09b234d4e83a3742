import type { Clock } from '@homeostat/controller-runtime/api';
import type { RequiredClaim } from '../../store/store.ts';
import { KeyedMutex } from './keyed-mutex.ts';
import { waitForTurn } from './wait-for-turn.ts';

/** Stores the id of the holder: the one process of a database that may commit writes which depend on other objects. */
interface TurnHolder {
  /**
   * Makes this process the holder, if it is not the holder yet. Resolves with a claim that exists until another process
   * becomes the holder.
   */
  hold(): Promise<RequiredClaim>;
  /** Resolves when memory has all writes that were acknowledged before the call. */
  reach(): Promise<void>;
}

export interface WriteTurnsParts {
  /**
   * Makes this process the holder: the one process of the database that may commit writes which depend on other
   * objects. Undefined when no other process writes to the database.
   */
  readonly holder: TurnHolder | undefined;
  readonly clock: Clock;
  /** Returns a random number from 0 to below 1, with a uniform distribution. */
  readonly random: () => number;
}

/**
 * Lets writes that depend on other objects commit one after the other, across all processes of a database: only one
 * process, the holder, may commit them. Each write is checked just before its commit, and the commit requires the claim
 * that this process is the holder. If another process has become the holder since the check, nothing is committed.
 */
export class WriteTurns {
  readonly #parts: WriteTurnsParts;
  readonly #locks = new KeyedMutex();

  constructor(parts: WriteTurnsParts) {
    this.#parts = parts;
  }

  /**
   * Calls `commit` with the claims that the commit must require. `race` is the number of times that this write was
   * planned before, and could not be committed.
   */
  run<T>(race: number, commit: (requires: readonly RequiredClaim[]) => Promise<T>): Promise<T> {
    const { holder } = this.#parts;
    return this.#locks.run('turn', async () => {
      if (holder === undefined) return commit([]);
      if (race > 0) await waitForTurn(this.#parts, race - 1);
      const claim = await holder.hold();
      await holder.reach();
      return commit([claim]);
    });
  }
}
