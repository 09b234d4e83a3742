import type { Outcome, Frame, History, Listing, Moment, Operation, Request, Watch } from './history.ts';

/** A watch that is being recorded. */
export interface OpenWatch extends Watch {
  readonly streams: { after: number; frames: Frame[] }[];
  end: Watch['end'];
}

/** Records the requests, responses and events of clients and watchers, in the order in which they happen. */
export class Recorder {
  #moment: Moment = 0;
  readonly #operations: Operation[] = [];
  readonly #listings: Listing[] = [];
  readonly #watches: OpenWatch[] = [];

  /** The number of operations so far. */
  get size(): number {
    return this.#operations.length;
  }

  /** Now. */
  moment(): Moment {
    this.#moment += 1;
    return this.#moment;
  }

  /** Records the end of an operation: a response that arrived now, or `unknown` if no response will arrive. */
  operation(asked: { client: string; key: string; request: Request; call: Moment }, answer: Outcome): void {
    const end = answer.kind === 'unknown' ? Infinity : this.moment();
    this.#operations.push({ ...asked, answer, return: end });
  }

  listing(listing: Omit<Listing, 'return'>): void {
    this.#listings.push({ ...listing, return: this.moment() });
  }

  /** Records the start of a watch. The watcher has just received a list with the revision `after`. */
  watch(watcher: string, { key, after }: { key: string | undefined; after: number }): OpenWatch {
    const watch: OpenWatch = { watcher, key, after, since: this.moment(), streams: [], end: 'open' };
    this.#watches.push(watch);
    return watch;
  }

  history(keys: readonly string[]): History {
    return { keys, operations: this.#operations, listings: this.#listings, watches: this.#watches };
  }
}
