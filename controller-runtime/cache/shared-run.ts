import { aborted } from '../client/abort.ts';

interface Run {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  users: number;
}

/** A task that runs once for several callers, and ends when the last of them leaves. */
export class SharedRun {
  readonly #follow: (signal: AbortSignal) => Promise<void>;
  #current: Run | undefined;
  #lastEnd: Promise<void> = Promise.resolve();

  /**
   * `follow` runs until its signal aborts, and must not reject. It is called again only after the previous call has
   * ended.
   */
  constructor(follow: (signal: AbortSignal) => Promise<void>) {
    this.#follow = follow;
  }

  /**
   * Takes part in the run until the signal aborts, and then settles. Starts a run if there is none. When the signal of
   * the last caller aborts, the run is stopped, and the call of this last caller settles only when the run has ended.
   */
  async join(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    this.#current ??= this.#start();
    const run = this.#current;
    run.users += 1;
    await aborted(signal);
    run.users -= 1;
    if (run.users > 0) return;
    // A caller that joins later starts a new run.
    run.stop.abort();
    this.#current = undefined;
    await run.ended;
  }

  #start(): Run {
    const stop = new AbortController();
    this.#lastEnd = this.#lastEnd.then(() => this.#follow(stop.signal));
    return { stop, ended: this.#lastEnd, users: 0 };
  }
}
