import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import { PeriodicTask } from '../../base/periodic-task.ts';
import type { Store } from '../../store/store.ts';

/** The history to keep: at least this time and this many changes, unless the history exceeds the limit of bytes. */
export interface Retention {
  /** The minimum time for which a change is kept. Default 5 min. */
  readonly minAgeMs: number;
  /** The minimum number of changes that are kept. Default 10,000. */
  readonly minChanges: number;
  /**
   * The maximum number of bytes of the changed objects in the history. Memory and the log in the database have the same
   * history, whose bytes count once. Default 256 MiB, but at most an eighth of the memory that this process may use:
   * its part of the memory of the container or machine. Above this limit, the oldest changes are dropped from both,
   * however recent they are: up to 256 changes at a time. The newest group of up to 256 changes always stays.
   */
  readonly maxBytes: number;
}

/** Returns the default limits of the history, for a process that may use `memory` bytes. */
export function defaultRetention(memory: number): Retention {
  return { minAgeMs: 300_000, minChanges: 10_000, maxBytes: Math.min(256 * 1024 * 1024, memory / 8) };
}

/** The number of rows that one transaction deletes. It takes 2 to 4 ms, in which writers wait. */
const rowsPerStep = 1000;

const intervalMs = 30_000;

/** The number of changes that are kept while memory is short: those that fast watchers still need. */
const shortChanges = 1000;

/**
 * The number of changes that are counted as one group. A counter for each change would cost as much memory as the
 * history itself.
 */
const changesPerGroup = 256;

/**
 * The part of `maxBytes` that one group of changes may fill: after that, a new group begins. All changes of a group are
 * dropped together, so a group with changes of large objects must not contain the whole history.
 */
const groupShare = 1 / 64;

export interface CompactorParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retention: Retention;
  /** Drops the changes up to a revision from memory; resolves when this memory is free. */
  readonly trim: (revision: number) => Promise<void>;
  /** True while memory is short. Then `minAgeMs` does not apply, and {@link shortChanges} changes are enough. */
  readonly isMemoryShort: () => boolean;
  /** The revision after which history is in memory. The first compaction removes older history from the store. */
  readonly floor: number;
}

interface Group {
  /** The revision of the last change in this group of changes. */
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

  /** Ends the periodic compaction, and waits for a running one. */
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

  /** Drops expired history. The compactor calls this every 30 s, and when the history exceeds `maxBytes`. */
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

  /**
   * Removes the groups of changes that the retention no longer covers. Returns the revision of the last removed change,
   * after which history now begins; undefined when nothing is removed.
   */
  #takeExpired(): number | undefined {
    const { minAgeMs, minChanges, maxBytes } = this.#retention();
    const newestExpiredMs = this.#parts.clock.monotonicMs() - minAgeMs;
    const newest = this.#groups.at(-1);
    let count = 0;
    for (const group of this.#groups) {
      const isOld = group.atMs <= newestExpiredMs && this.#changes - group.changes >= minChanges;
      // Even fast watchers have not received the newest changes yet, so the limit of bytes never removes them.
      const isTooMuch = this.#bytes > maxBytes && group !== newest;
      if (!isOld && !isTooMuch) break;
      this.#changes -= group.changes;
      this.#bytes -= group.bytes;
      count += 1;
    }
    return this.#groups.splice(0, count).at(-1)?.revision;
  }
}
