import type { Clock, Timer } from '@homeostat/controller-runtime/api';

/** The interval grows by this factor with every look that finds nothing new. */
const growth = 1.25;

/** How often the database is looked at. */
export interface LookIntervals {
  /** After news. */
  readonly minMs: number;
  readonly maxMs: number;
  /** After a look that failed; the reader reconnects meanwhile. */
  readonly failedMs: number;
}

/** What learns of revisions without being asked. */
export interface ChangeSource {
  close(): Promise<void>;
}

export interface ChangeSubscriptionParts {
  /** Reads the latest revision. */
  readonly read: () => Promise<number>;
  readonly clock: Clock;
  readonly intervals: LookIntervals;
  /** Starts a source, which calls `notice` with what it learns, and `look` when it may have missed something. */
  readonly hear?: (subscription: Pick<ChangeSubscription, 'notice' | 'look'>) => ChangeSource;
}

/** Wakes listeners when there are new revisions: it looks for them, and hears of them. It does neither without a listener. */
export class ChangeSubscription {
  readonly #parts: ChangeSubscriptionParts;
  readonly #listeners = new Set<(revision: number) => void>();
  #revision: number;
  #intervalMs: number;
  #timer: Timer | undefined;
  #isActive = false;
  #source: ChangeSource | undefined;
  /** Looks and sources that are not over yet. */
  readonly #underWay = new Set<Promise<void>>();

  /** `revision`: known at the start; listeners are not told of it and those before. */
  constructor(parts: ChangeSubscriptionParts, revision: number) {
    this.#parts = parts;
    this.#revision = revision;
    this.#intervalMs = parts.intervals.minMs;
  }

  /** The listener must not throw. */
  subscribe(wake: (revision: number) => void): () => void {
    // A listener of its own for each call, even of the same function.
    const listener = (revision: number): void => wake(revision);
    this.#listeners.add(listener);
    if (!this.#isActive) this.#start();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
  }

  /** Takes a revision that was learned without looking. */
  notice(revision: number): void {
    if (!(revision > this.#revision)) return;
    this.#revision = revision;
    this.#intervalMs = this.#parts.intervals.minMs;
    for (const listener of this.#listeners) listener(revision);
  }

  /** Takes the revision of a history that begins again, which may be lower than the last one. */
  restart(revision: number): void {
    this.#revision = 0;
    this.notice(revision);
  }

  /** Polls now, and then at intervals while there are listeners. */
  look(): void {
    this.#track(this.#look());
  }

  /** Resolves when what is under way is over. */
  async close(): Promise<void> {
    this.#listeners.clear();
    this.#stop();
    await Promise.all(this.#underWay);
  }

  #start(): void {
    this.#isActive = true;
    this.#lookLater();
    this.#source = this.#parts.hear?.(this);
  }

  #stop(): void {
    this.#isActive = false;
    this.#parts.clock.clearTimeout(this.#timer);
    if (this.#source) this.#track(this.#source.close());
    this.#source = undefined;
  }

  #lookLater(): void {
    // A look from before a stop or of a source may be under way, and comes here as well: one timer for all of them.
    this.#parts.clock.clearTimeout(this.#timer);
    this.#timer = this.#parts.clock.setTimeout(() => this.look(), this.#intervalMs);
  }

  async #look(): Promise<void> {
    const { read, intervals } = this.#parts;
    this.#intervalMs = Math.min(this.#intervalMs * growth, intervals.maxMs);
    try {
      this.notice(await read());
    } catch {
      // Looks are hints: a caller that needs the revision reads it, and gets the error.
      this.#intervalMs = intervals.failedMs;
    }
    if (this.#isActive) this.#lookLater();
  }

  #track(task: Promise<void>): void {
    this.#underWay.add(task);
    void task.finally(() => this.#underWay.delete(task));
  }
}
