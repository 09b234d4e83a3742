import type { Clock, Timer } from '@homeostat/controller-runtime/api';

/** The factor by which the interval grows after each poll that finds no new revision. */
const growth = 1.25;

/** The intervals at which the database is polled. */
export interface LookIntervals {
  /** The delay before the next poll, at the start and after a new revision. */
  readonly minMs: number;
  readonly maxMs: number;
  /** The interval after a failed poll. Meanwhile the reader reconnects. */
  readonly failedMs: number;
}

/** A source of revisions in addition to polling. */
export interface ChangeSource {
  close(): Promise<void>;
}

export interface ChangeSubscriptionParts {
  /** Reads the latest revision. */
  readonly read: () => Promise<number>;
  readonly clock: Clock;
  readonly intervals: LookIntervals;
  /**
   * Starts a source of revisions. The source calls `notice` with each revision, and `look` when it may have missed one.
   */
  readonly hear?: (subscription: Pick<ChangeSubscription, 'notice' | 'look'>) => ChangeSource;
}

/**
 * Calls listeners with new revisions of the database. It learns of them by polls and, if the engine has one, from a
 * {@link ChangeSource}. The polls and the source run only while there is a listener.
 */
export class ChangeSubscription {
  readonly #parts: ChangeSubscriptionParts;
  readonly #listeners = new Set<(revision: number) => void>();
  #revision: number;
  #intervalMs: number;
  #timer: Timer | undefined;
  #isActive = false;
  #source: ChangeSource | undefined;
  /** Promises of the polls that are running, and of each {@link ChangeSource} that is being closed. */
  readonly #underWay = new Set<Promise<void>>();

  /** `revision` is the revision that is already known: listeners are called only with later ones. */
  constructor(parts: ChangeSubscriptionParts, revision: number) {
    this.#parts = parts;
    this.#revision = revision;
    this.#intervalMs = parts.intervals.minMs;
  }

  /** Calls `wake` with each new revision. `wake` must not throw. */
  subscribe(wake: (revision: number) => void): () => void {
    // Each call adds a new function, so that the same `wake` can be added twice.
    const listener = (revision: number): void => wake(revision);
    this.#listeners.add(listener);
    if (!this.#isActive) this.#start();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
  }

  /** Called with a revision that a poll or a source has found. Calls the listeners if the revision is new. */
  notice(revision: number): void {
    if (!(revision > this.#revision)) return;
    this.#revision = revision;
    this.#intervalMs = this.#parts.intervals.minMs;
    for (const listener of this.#listeners) listener(revision);
  }

  /**
   * Called when the database begins a new history (`startHistory`). Calls the listeners with the first revision of this
   * history, which may be lower than the last revision of the former history.
   */
  restart(revision: number): void {
    this.#revision = 0;
    this.notice(revision);
  }

  /** Polls immediately, and then at intervals while there are listeners. */
  look(): void {
    this.#track(this.#look());
  }

  /** Removes all listeners, and closes the {@link ChangeSource}. Resolves when it is closed and no poll is running. */
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
    // Replaces the pending timer, so that there is never more than one. Each poll calls this method at its end, and
    // several polls may run at the same time: a source may request a poll while another one runs; and a poll that began
    // before all listeners were removed may still run when a new listener is added.
    this.#parts.clock.clearTimeout(this.#timer);
    this.#timer = this.#parts.clock.setTimeout(() => this.look(), this.#intervalMs);
  }

  async #look(): Promise<void> {
    const { read, intervals } = this.#parts;
    this.#intervalMs = Math.min(this.#intervalMs * growth, intervals.maxMs);
    try {
      this.notice(await read());
    } catch {
      // A failed poll is ignored, because polls are only hints: a caller that needs the revision reads it, and gets the
      // error.
      this.#intervalMs = intervals.failedMs;
    }
    if (this.#isActive) this.#lookLater();
  }

  #track(task: Promise<void>): void {
    this.#underWay.add(task);
    void task.finally(() => this.#underWay.delete(task));
  }
}
