import { median } from './figures.ts';
import type { Row } from './result-table.ts';

/** The target: the maximum pause of the event loop. */
const maxStallMs = 50;

const idleMs = 2_000;

/**
 * The number of attempts, of which the median counts: a single one may be slow because of a full garbage collection, or
 * because code is not yet compiled.
 */
const attempts = 3;

/** A server in a separate process, which measures its longest turn, and collects its garbage. */
export interface MeasuredServer {
  call(name: 'takeLongestMs' | 'heldBytes'): Promise<number>;
}

type Work = (attempt: number) => Promise<unknown>;

/**
 * Measures for how long some work blocks the event loop of a server. The longest stall of an idle server is subtracted.
 */
export class StallMeter {
  readonly rows: Row[] = [];
  readonly #server: MeasuredServer;
  readonly #only: string;
  #idleMs = 0;

  /**
   * Measures only the rows with `only` in their names. The work of the other rows is done once without a measurement,
   * because later rows need its results.
   */
  constructor(server: MeasuredServer, only = '') {
    this.#server = server;
    this.#only = only;
  }

  async measureIdle(): Promise<void> {
    await this.#server.call('takeLongestMs');
    await new Promise((resolve) => setTimeout(resolve, idleMs));
    this.#idleMs = await this.#server.call('takeLongestMs');
    this.rows.push({ name: 'stall: idle', note: `${this.#idleMs.toFixed(1)} ms` });
  }

  /**
   * Measures the longest stall of work that is done only once. One attempt is enough, because such work has many equal
   * parts.
   */
  async measureOnce(name: string, work: () => Promise<unknown>): Promise<void> {
    if (name.includes(this.#only)) this.#report(name, await this.#stallOf(work));
    else await work();
  }

  /** Measures the longest stall of each attempt, and reports the median. `before` prepares each attempt. */
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

  /** Returns the longest stall during the work. Before the work, the garbage of earlier work is collected. */
  async #stallOf(work: () => Promise<unknown>): Promise<number> {
    await this.#server.call('heldBytes');
    await this.#server.call('takeLongestMs');
    await work();
    return Math.max(0, (await this.#server.call('takeLongestMs')) - this.#idleMs);
  }

  /** Adds a row, and also prints it immediately, because all rows together take minutes. */
  #report(name: string, stallMs: number): void {
    const text = `${stallMs.toFixed(0)} ms <= ${maxStallMs.toString()} ms`;
    console.error(`  ${name}: ${text}`);
    this.rows.push({ name: `stall: ${name}`, target: { text, isMet: stallMs <= maxStallMs } });
  }
}
