import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import { PeriodicTask } from '../../base/periodic-task.ts';
import type { Store } from '../../store/store.ts';

/** The history to keep: at least this time and this many changes, but never more than this many bytes. */
export interface Retention {
  /** Default 5 min. */
  readonly minAgeMs: number;
  /** Default 10,000. */
  readonly minChanges: number;
  /**
   * Bytes of changed objects, in memory and in the log; default 256 MiB. Beyond it, history is dropped however recent
   * it is.
   */
  readonly maxBytes: number;
}

export const defaultRetention: Retention = { minAgeMs: 300_000, minChanges: 10_000, maxBytes: 256 * 1024 * 1024 };

/** The number of rows that one transaction deletes. Writers wait for it, for 2 to 4 ms. */
const rowsPerStep = 1000;

const intervalMs = 30_000;

/** The history that is kept while memory is short: the part that fast watchers still need. */
const shortChanges = 1000;

/** Changes are counted in groups: one record per change would cost as much memory as the window itself. */
const changesPerGroup = 256;

/**
 * The part of the bytes at which a group is closed: groups are dropped whole, and with large objects one group must
 * not hold all of the history.
 */
const groupShare = 1 / 64;

export interface CompactorParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retention: Retention;
  /** Drops changes up to a revision from memory; resolves when their memory is free. */
  readonly trim: (revision: number) => Promise<void>;
  /** True while memory is short: history is then dropped however recent it is. */
  readonly isMemoryShort: () => boolean;
  /** The start of history in memory; the first run removes older history from the store. */
  readonly floor: number;
}

interface Group {
  /** The revision of its last change. */
  revision: number;
  atMs: number;
  changes: number;
  bytes: number;
}

/** Compacts history that is older than the retention: first in memory, then in the store, in small steps. */
export class Compactor {
  readonly #parts: CompactorParts;
  readonly #periodic: PeriodicTask;
  readonly #groups: Group[] = [];
  #changes = 0;
  #bytes = 0;
  /** The revision up to which the store may drop changes. */
  #target: number;
  #running: Promise<void> | undefined;

  constructor(parts: CompactorParts) {
    this.#parts = parts;
    this.#target = parts.floor;
    this.#periodic = new PeriodicTask({ clock: parts.clock, intervalMs, run: () => this.compact() });
  }

  start(): void {
    this.#periodic.start();
  }

  /** Waits for a running compaction. */
  async stop(): Promise<void> {
    await this.#periodic.stop();
    await this.#running;
  }

  /** Counts a change that was just committed. */
  record(revision: number, bytes: number): void {
    const last = this.#groups.at(-1);
    const maxGroupBytes = this.#parts.retention.maxBytes * groupShare;
    if (last === undefined || last.changes >= changesPerGroup || last.bytes >= maxGroupBytes) {
      this.#groups.push({ revision, atMs: this.#parts.clock.monotonicMs(), changes: 1, bytes });
    } else {
      last.revision = revision;
      last.atMs = this.#parts.clock.monotonicMs();
      last.changes += 1;
      last.bytes += bytes;
    }
    this.#changes += 1;
    this.#bytes += bytes;
    if (this.#bytes > this.#parts.retention.maxBytes) void this.compact();
  }

  /** Drops expired history. Runs by itself every 30 s, and when there are too many bytes. */
  compact(): Promise<void> {
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #run(): Promise<void> {
    const { store, trim, logger } = this.#parts;
    const revision = this.#takeExpired();
    if (revision !== undefined) await trim((this.#target = revision));
    try {
      while (!this.#periodic.isStopped && (await store.compact(this.#target, rowsPerStep)) >= rowsPerStep);
    } catch (err) {
      logger.warn({ err, revision: this.#target }, 'history could not be compacted; trying again');
    }
  }

  #retention(): Retention {
    const { retention, isMemoryShort } = this.#parts;
    if (!isMemoryShort()) return retention;
    return { ...retention, minAgeMs: 0, minChanges: Math.min(retention.minChanges, shortChanges) };
  }

  /** Removes the groups that are past the retention; the last one's revision is the new start of history. */
  #takeExpired(): number | undefined {
    const { minAgeMs, minChanges, maxBytes } = this.#retention();
    const newestExpiredMs = this.#parts.clock.monotonicMs() - minAgeMs;
    const newest = this.#groups.at(-1);
    let count = 0;
    for (const group of this.#groups) {
      const isOld = group.atMs <= newestExpiredMs && this.#changes - group.changes >= minChanges;
      // The newest changes are on their way to watchers that keep up, so the bound of bytes never removes them.
      const isTooMuch = this.#bytes > maxBytes && group !== newest;
      if (!isOld && !isTooMuch) break;
      this.#changes -= group.changes;
      this.#bytes -= group.bytes;
      count += 1;
    }
    return this.#groups.splice(0, count).at(-1)?.revision;
  }
}
