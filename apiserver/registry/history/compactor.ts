import type { Clock, Logger, Timer } from '@homeostat/controller-runtime/api';
import type { Store } from '../../store/store.ts';

/** How much history is kept: at least this time and this many changes, but never more than the bytes. */
export interface Retention {
  /** Default 5 min. */
  readonly minAgeMs: number;
  /** Default 10,000. */
  readonly minChanges: number;
  /** Bytes of changed objects, in memory and in the log; default 256 MiB. Older history goes, however young it is. */
  readonly maxBytes: number;
}

export const defaultRetention: Retention = { minAgeMs: 300_000, minChanges: 10_000, maxBytes: 256 * 1024 * 1024 };

/** Rows in one transaction: 2 to 4 ms, for which writers wait. */
const rowsPerStep = 1000;

const intervalMs = 30_000;

/** Changes are counted in groups: one record each would cost as much memory as the window itself. */
const changesPerGroup = 256;

/** A group is closed at this part of the bytes, too: whole groups go, and a bound of large objects must not take all. */
const groupShare = 1 / 64;

export interface CompactorOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retention: Retention;
  /** Drops changes up to a revision from memory. */
  readonly trim: (revision: number) => void;
  /** Where history begins in memory; what the store still has of it goes at the first run. */
  readonly floor: number;
}

interface Group {
  /** The revision of its last change. */
  revision: number;
  atMs: number;
  changes: number;
  bytes: number;
}

/** Forgets history that is older than the retention: first in memory, then in the store, in small steps. */
export class Compactor {
  readonly #options: CompactorOptions;
  readonly #groups: Group[] = [];
  #changes = 0;
  #bytes = 0;
  /** Up to here the store may drop changes. */
  #target: number;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#target = options.floor;
  }

  start(): void {
    this.#timer = this.#options.clock.setTimeout(() => {
      void this.compact().finally(() => {
        if (!this.#stopped) this.start();
      });
    }, intervalMs);
    this.#timer.unref?.();
  }

  /** Waits for what is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#options.clock.clearTimeout(this.#timer);
    await this.#running;
  }

  /** Counts a change that was just committed. */
  record(revision: number, bytes: number): void {
    const last = this.#groups.at(-1);
    const maxGroupBytes = this.#options.retention.maxBytes * groupShare;
    if (last === undefined || last.changes >= changesPerGroup || last.bytes >= maxGroupBytes) {
      this.#groups.push({ revision, atMs: this.#options.clock.monotonicMs(), changes: 1, bytes });
    } else {
      last.revision = revision;
      last.atMs = this.#options.clock.monotonicMs();
      last.changes += 1;
      last.bytes += bytes;
    }
    this.#changes += 1;
    this.#bytes += bytes;
    if (this.#bytes > this.#options.retention.maxBytes) void this.compact();
  }

  /** Drops what may go now. Runs by itself every 30 s, and when there are too many bytes. */
  compact(): Promise<void> {
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #run(): Promise<void> {
    const { store, trim, logger } = this.#options;
    const revision = this.#takeExpired();
    if (revision !== undefined) trim((this.#target = revision));
    try {
      while (!this.#stopped && (await store.compact(this.#target, rowsPerStep)) >= rowsPerStep);
    } catch (err) {
      logger.warn({ err, revision: this.#target }, 'history could not be compacted; it is tried again');
    }
  }

  /** Takes the groups off that are past the retention; the last one's revision is where history begins now. */
  #takeExpired(): number | undefined {
    const { minAgeMs, minChanges, maxBytes } = this.#options.retention;
    const newestExpiredMs = this.#options.clock.monotonicMs() - minAgeMs;
    const newest = this.#groups.at(-1);
    let count = 0;
    for (const group of this.#groups) {
      const isOld = group.atMs <= newestExpiredMs && this.#changes - group.changes >= minChanges;
      // The newest changes are on their way to watchers that keep up: the bytes never take those.
      const isTooMuch = this.#bytes > maxBytes && group !== newest;
      if (!isOld && !isTooMuch) break;
      this.#changes -= group.changes;
      this.#bytes -= group.bytes;
      count += 1;
    }
    return this.#groups.splice(0, count).at(-1)?.revision;
  }
}
