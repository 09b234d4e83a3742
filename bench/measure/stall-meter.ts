import type { HostileProcess } from '@homeostat/test';
import { median } from './figures.ts';
import type { Row } from './result-table.ts';

/** The longest allowed pause of the event loop. */
const maxStallMs = 50;

const idleMs = 2_000;

/** The number of attempts; their median counts. One of them may meet a full garbage collection, or cold code. */
const attempts = 3;

type Work = (attempt: number) => Promise<unknown>;

/** Measures for how long work blocks the event loop of a server, in addition to the stalls of an idle server. */
export class StallMeter {
  readonly rows: Row[] = [];
  readonly #server: HostileProcess;
  readonly #only: string;
  #idleMs = 0;

  /**
   * Measures only rows whose name contains `only`. The work of other rows is done once without a measurement, because
   * later rows need its results.
   */
  constructor(server: HostileProcess, only = '') {
    this.#server = server;
    this.#only = only;
  }

  async measureIdle(): Promise<void> {
    await this.#server.call('takeLongestMs');
    await new Promise((resolve) => setTimeout(resolve, idleMs));
    this.#idleMs = await this.#server.call('takeLongestMs');
    this.rows.push({ name: 'stall: idle', note: `${this.#idleMs.toFixed(1)} ms` });
  }

  /** Measures the longest stall of work that is done only once: it has many equal parts, so one attempt is enough. */
  async measureOnce(name: string, work: () => Promise<unknown>): Promise<void> {
    if (name.includes(this.#only)) this.#report(name, await this.#stallOf(work));
    else await work();
  }

  /** Measures the median of several attempts, each after its own preparation. */
  async measure(name: string, work: Work, before: Work = () => Promise.resolve()): Promise<void> {
    if (!name.includes(this.#only)) {
      await before(0);
      await work(0);
      return;
    }
    const stallsMs: number[] = [];
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      await before(attempt);
      stallsMs.push(await this.#stallOf(() => work(attempt)));
    }
    this.#report(name, median(stallsMs));
  }

  /** Returns the longest stall during the work. Collects earlier garbage first. */
  async #stallOf(work: () => Promise<unknown>): Promise<number> {
    await this.#server.call('heldBytes');
    await this.#server.call('takeLongestMs');
    await work();
    return Math.max(0, (await this.#server.call('takeLongestMs')) - this.#idleMs);
  }

  /** Each row is also printed at once, because the whole takes minutes. */
  #report(name: string, stallMs: number): void {
    const text = `${stallMs.toFixed(0)} ms <= ${maxStallMs.toString()} ms`;
    console.error(`  ${name}: ${text}`);
    this.rows.push({ name: `stall: ${name}`, target: { text, isMet: stallMs <= maxStallMs } });
  }
}
