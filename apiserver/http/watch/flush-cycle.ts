import type { Clock } from '@homeostat/controller-runtime/api';
import { inBounds } from '../../base/in-bounds.ts';
import { PassCache } from './watch-frames.ts';

/** The time after which a pass of {@link FlushCycle} lets other work of the event loop run. */
const sliceMs = 2;

/**
 * A pass writes to each watcher that lacks events, and a pause follows. The pause is so short that the writing and the
 * pause together take at most this time. If the writing alone takes longer, there is no pause.
 */
const mostCycleMs = 50;

/** A target that has events to write, such as a watcher or a group of watchers. */
export interface Flushable {
  /**
   * Writes events to one watcher: to the target itself, or to the next watcher of a group. Returns true when the group
   * has further watchers to which the current pass of {@link FlushCycle} must write.
   */
  flush(): boolean;
}

/**
 * Writes to many watchers in passes. A pass runs in slices of {@link sliceMs}, and other work runs between two slices.
 * A pause follows each pass, usually as long as the pass, so that each write has more changes and watchers take at most
 * half of the time. If pass and pause together would exceed {@link mostCycleMs}, the pause is shorter, or there is
 * none, so that watchers do not wait for too long. Without a pause, they take all the time that other work leaves.
 */
export class FlushCycle {
  /**
   * The events that were serialized in the current pass. Watchers that receive the same event share its serialization.
   */
  readonly shared: PassCache = new PassCache();
  readonly #clock: Clock;
  readonly #continue = (): void => this.#slice();
  /** The targets, such as watchers, to which the next pass writes events. */
  #dirty: Flushable[] = [];
  /**
   * The watchers, or groups of watchers, to which the current pass writes events. `#next` is the position of the next
   * one in this list.
   */
  #targets: readonly Flushable[] = [];
  #next = 0;
  /** The time that writing to watchers has taken in the current pass, without the other work between its slices. */
  #passMs = 0;
  #scheduled = false;
  #restUntilMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Flushes `target` in the next pass. The caller must not add a target twice for the same pass. */
  add(target: Flushable): void {
    this.#dirty.push(target);
    if (!this.#scheduled) this.#schedule();
  }

  #schedule(): void {
    this.#scheduled = true;
    const restMs = this.#restUntilMs - this.#clock.monotonicMs();
    if (restMs < 1) setImmediate(this.#continue);
    else this.#clock.setTimeout(this.#continue, restMs);
  }

  #slice(): void {
    if (this.#next === this.#targets.length) this.#begin();
    const startMs = this.#clock.monotonicMs();
    let nowMs = startMs;
    while (this.#next < this.#targets.length && nowMs - startMs < sliceMs) {
      if (!inBounds(this.#targets[this.#next]).flush()) this.#next += 1;
      nowMs = this.#clock.monotonicMs();
    }
    this.#passMs += nowMs - startMs;
    if (this.#next < this.#targets.length) setImmediate(this.#continue);
    else this.#end(nowMs);
  }

  #begin(): void {
    this.#targets = this.#dirty;
    this.#dirty = [];
    this.#next = 0;
    this.#passMs = 0;
  }

  #end(nowMs: number): void {
    this.shared.clear();
    this.#targets = [];
    this.#next = 0;
    this.#restUntilMs = nowMs + Math.max(0, Math.min(this.#passMs, mostCycleMs - this.#passMs));
    this.#scheduled = false;
    if (this.#dirty.length > 0) this.#schedule();
  }
}
