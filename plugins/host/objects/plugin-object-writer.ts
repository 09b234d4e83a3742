import { backoffDelayMs, sleep } from '@homeostat/controller-runtime';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import type { PluginReport } from './plugin-report.ts';

export interface PluginObjectWriterParts {
  readonly name: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly write: (report: PluginReport) => Promise<void>;
  /** Aborts when the host stops. Waiting reports are then tried once more, and dropped if they fail. */
  readonly closing: AbortSignal;
}

/**
 * The maximum number of reports that wait while the database refuses writes. When more arrive, the oldest are dropped.
 */
const maxWaiting = 8;

const retryDelays = { baseMs: 500, maxMs: 30_000 };

/**
 * Writes the reports of one plugin into its Plugin object, one at a time and in order. A new report replaces the newest
 * waiting report if both have the same phase. Retries a failed write with growing delays; no other work waits for the
 * retries.
 */
export class PluginObjectWriter {
  readonly #parts: PluginObjectWriterParts;
  readonly #waiting: PluginReport[] = [];
  #latest: PluginReport | undefined;
  #isOpen = false;
  #work: Promise<void> | undefined;

  constructor(parts: PluginObjectWriterParts) {
    this.#parts = parts;
  }

  get latest(): PluginReport | undefined {
    return this.#latest;
  }

  /** Starts to write the pushed reports; until then, they wait. */
  open(): void {
    this.#isOpen = true;
    this.#begin();
  }

  push(report: PluginReport): void {
    this.#latest = report;
    if (this.#waiting.at(-1)?.phase === report.phase) this.#waiting.pop();
    this.#waiting.push(report);
    if (this.#waiting.length > maxWaiting) this.#waiting.shift();
    this.#begin();
  }

  /** Writes the newest report again, because another client may have changed the object. */
  refresh(): void {
    if (this.#latest !== undefined && this.#waiting.length === 0) this.push(this.#latest);
  }

  isIdle(): boolean {
    return this.#work === undefined;
  }

  /** Resolves when all reports are written or dropped. */
  async drained(): Promise<void> {
    while (this.#work !== undefined) await this.#work;
  }

  #begin(): void {
    if (!this.#isOpen) return;
    this.#work ??= this.#writeAll().finally(() => {
      this.#work = undefined;
      if (this.#waiting.length > 0) this.#begin();
    });
  }

  async #writeAll(): Promise<void> {
    for (let report = this.#waiting.shift(); report !== undefined; report = this.#waiting.shift()) {
      await this.#writeOne(report);
    }
  }

  async #writeOne(report: PluginReport): Promise<void> {
    const { name, clock, logger, write, closing } = this.#parts;
    for (let failures = 1; ; failures += 1) {
      const isLast = closing.aborted;
      try {
        return await write(report);
      } catch (err) {
        logger.warn({ err, plugin: name, phase: report.phase, failures }, 'the Plugin object could not be written');
      }
      if (isLast) return;
      await sleep(clock, backoffDelayMs(failures, retryDelays), closing);
    }
  }
}
