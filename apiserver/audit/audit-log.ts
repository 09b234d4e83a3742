import type { Clock, Logger, Timer } from '@homeostat/controller-runtime/api';
import type { Counter, Metrics } from '@homeostat/controller-runtime/telemetry';
import { LineBuffer } from './line-buffer.ts';
import type { LogFile } from './log-file.ts';

/** The maximum time that an entry waits for further entries, so that they are written together. */
const gatherMs = 50;

/** When the waiting entries together reach this size, the log writes them without waiting for further entries. */
const enoughBytes = 256 * 1024;

/** The maximum total size of the entries that wait for the disk. Further entries are lost. */
const maxWaitingBytes = 16 * 1024 * 1024;

export interface AuditLogParts {
  readonly file: LogFile;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes entries in batches, one batch at a time. Entries that cannot be written are counted. Only the first of several
 * failures in a row is logged.
 */
export class AuditLog {
  readonly #parts: AuditLogParts;
  readonly #written: Counter;
  readonly #lost: Counter;
  /** The entries that wait to be written. */
  #lines = new LineBuffer();
  /** The second buffer. While one buffer is written, entries are added to the other one. */
  #spare = new LineBuffer();
  #waiters: Waiter[] = [];
  #timer: Timer | undefined;
  #isSoon = false;
  #writing: Promise<void> | undefined;
  #isFailing = false;

  constructor(parts: AuditLogParts) {
    this.#parts = parts;
    const { metrics } = parts;
    this.#written = metrics
      .counter({ name: 'apiserver_audit_event_total', help: 'Audit entries that were written.' })
      .of();
    this.#lost = metrics
      .counter({ name: 'apiserver_audit_error_total', help: 'Audit entries that could not be written, and are lost.' })
      .of();
  }

  /**
   * Opens the file, and deletes rotated files that are too old or too many. Rejects when the file cannot be opened, or
   * a rotated file cannot be deleted.
   */
  async open(): Promise<void> {
    await this.#parts.file.open();
    await this.#parts.file.prune(this.#parts.clock.now());
  }

  /**
   * Adds an entry, which is written soon. Returns false when it is lost, because too many entries wait for the disk.
   */
  add(line: string): boolean {
    if (this.#lines.length + line.length > maxWaitingBytes) {
      this.#lose(1, new Error('the disk is too slow: too many entries wait for it'));
      return false;
    }
    this.#lines.add(line);
    if (this.#lines.length >= enoughBytes) this.#writeSoon();
    else this.#timer ??= this.#startTimer();
    return true;
  }

  /** Adds an entry, and resolves once it is written to the file. Rejects when it cannot be written. */
  addNow(line: string): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.add(line)) return reject(new Error('too many entries wait for the disk'));
      this.#waiters.push({ resolve, reject });
      this.#writeSoon();
    });
  }

  /** Writes the waiting entries, and closes the file. */
  async close(): Promise<void> {
    while (this.#writing !== undefined || this.#lines.lines > 0) {
      this.#write();
      await this.#writing;
    }
    this.#parts.clock.clearTimeout(this.#timer);
    await this.#parts.file.close();
  }

  #startTimer(): Timer {
    const timer = this.#parts.clock.setTimeout(() => {
      this.#timer = undefined;
      this.#write();
    }, gatherMs);
    timer.unref?.();
    return timer;
  }

  /**
   * Writes the entries at the end of this turn of the event loop, so that all requests that were read in this turn
   * share one write.
   */
  #writeSoon(): void {
    if (this.#isSoon) return;
    this.#isSoon = true;
    setImmediate(() => {
      this.#isSoon = false;
      this.#write();
    });
  }

  #write(): void {
    if (this.#writing !== undefined || this.#lines.lines === 0) return;
    const lines = this.#lines;
    const waiters = this.#waiters;
    this.#lines = this.#spare;
    this.#spare = lines;
    this.#waiters = [];
    this.#writing = this.#writeBatch(lines, waiters).finally(() => {
      this.#writing = undefined;
      lines.clear();
      if (this.#waiters.length > 0 || this.#lines.length >= enoughBytes) this.#write();
      else if (this.#lines.lines > 0) this.#timer ??= this.#startTimer();
    });
  }

  async #writeBatch({ bytes, lines }: LineBuffer, waiters: readonly Waiter[]): Promise<void> {
    const { file, clock, logger } = this.#parts;
    try {
      await file.append(bytes, clock.now());
      this.#written.inc(lines);
      if (this.#isFailing) logger.info({}, 'audit entries can be written again');
      this.#isFailing = false;
      for (const { resolve } of waiters) resolve();
    } catch (error) {
      this.#lose(lines, error);
      for (const { reject } of waiters) reject(error);
    }
  }

  #lose(count: number, err: unknown): void {
    this.#lost.inc(count);
    if (!this.#isFailing) this.#parts.logger.error({ err }, 'audit entries cannot be written, and are lost');
    this.#isFailing = true;
  }
}
