import type { Percentiles } from '../../api/index.ts';

const kept = 512;

/** The last 512 values of a series. */
export class RecentValues {
  readonly #values = new Float64Array(kept);
  #count = 0;

  add(value: number): void {
    this.#values[this.#count % kept] = value;
    this.#count += 1;
  }

  /** Returns the median and the 99th percentile of the last 512 values; undefined before the first value. */
  percentiles(): Percentiles | undefined {
    const size = Math.min(this.#count, kept);
    if (size === 0) return undefined;
    const sorted = this.#values.slice(0, size).sort();
    const at = (share: number): number => Math.round((sorted[Math.ceil(share * size) - 1] ?? 0) * 1000) / 1000;
    return { p50: at(0.5), p99: at(0.99) };
  }
}

const slotMs = 5000;
const slots = 12;

/** Computes the number of events per second over the last minute. */
export class RecentRate {
  readonly #counts = new Uint32Array(slots);
  /** The number of the newest slot. Slot n is a period of five seconds, which begins 5·n seconds after the time 0. */
  #newest = 0;

  add(nowMs: number): void {
    this.#advance(nowMs);
    const at = this.#newest % slots;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
  }

  perSecond(nowMs: number): number {
    this.#advance(nowMs);
    const sum = this.#counts.reduce((total, count) => total + count, 0);
    return Math.round((sum / ((slots * slotMs) / 1000)) * 1000) / 1000;
  }

  #advance(nowMs: number): void {
    const present = Math.floor(nowMs / slotMs);
    const passed = Math.min(slots, present - this.#newest);
    for (let i = 1; i <= passed; i += 1) this.#counts[(this.#newest + i) % slots] = 0;
    if (passed < slots) this.#newest += Math.max(0, passed);
    else {
      this.#counts.fill(0);
      this.#newest = present;
    }
  }
}
