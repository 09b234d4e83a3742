import type { Clock } from '@homeostat/controller-runtime/api';
import type { RequiredClaim } from '../../store/store.ts';
import { KeyedMutex } from './keyed-mutex.ts';
import { waitForTurn } from './wait-for-turn.ts';

/** Keeps the name of the process whose turn it is, for all processes of a database. */
interface TurnHolder {
  /**
   * Makes this process the holder, unless it already is. Resolves with a claim that the process holds until another one
   * takes over.
   */
  hold(): Promise<RequiredClaim>;
  /** Resolves when memory has everything that was acknowledged before the call. */
  reach(): Promise<void>;
}

export interface WriteTurnsParts {
  /** undefined when no other process writes to the database. */
  readonly holder: TurnHolder | undefined;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/**
 * Lets writes that depend on other objects of these kinds commit one after the other, in all processes of a database. Each
 * one is checked at its turn, and its commit requires the claim of the turn: when another write has outdated the
 * check, nothing is committed.
 */
export class WriteTurns {
  readonly #parts: WriteTurnsParts;
  readonly #locks = new KeyedMutex();

  constructor(parts: WriteTurnsParts) {
    this.#parts = parts;
  }

  /** Calls `commit` with the claims that it has to require. `race`: the number of turns that this write has lost. */
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
