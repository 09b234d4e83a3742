import { isArray, isObject, textOf } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { sleep } from '../base/time.ts';
import type { Clock } from '../base/time.ts';
import type { Api, Query } from './api.ts';
import { failureOf, toFailure } from './failure.ts';
import type { ApiFailure } from './failure.ts';

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: JsonObject;
}

/** The state of a watch, which its page shows. */
export type WatchState =
  | { readonly kind: 'listing' }
  | { readonly kind: 'live' }
  /** The connection is lost, and the next attempt follows after a pause. */
  | { readonly kind: 'lost'; readonly failure: ApiFailure }
  /** The server refuses the watch. There is no further attempt. */
  | { readonly kind: 'refused'; readonly failure: ApiFailure };

export interface FollowOptions {
  readonly path: string;
  readonly query?: Query;
  /** Parameters of the list only, such as a limit or an order. */
  readonly listQuery?: Query;
  readonly accept?: string;
  /**
   * Called with each list that was read. The list replaces the former rows. `isAgain` is true for each list after the
   * first: the changes between this list and the previous one are unknown.
   */
  readonly onList: (list: JsonObject, isAgain: boolean) => void;
  /** Called with the changes, in order, that arrived since the last call. */
  readonly onChanges: (changes: readonly Change[]) => void;
  readonly onState?: (state: WatchState) => void;
  readonly signal: AbortSignal;
}

export interface WatchParts {
  readonly api: Api;
  readonly clock: Clock;
  /** Returns a random number from 0 to 1, so that many pages do not try again at the same time. */
  readonly random: () => number;
  /** Runs the function once, soon: in a browser, before the next frame. */
  readonly batch: (run: () => void) => void;
}

/** The time without data after which a connection counts as dead. The server sends a blank line every 20 s. */
const silenceMs = 50_000;
const longestPauseMs = 10_000;

/**
 * Lists a kind and follows its changes until the signal aborts or the server refuses. A lost connection is opened again
 * at the last revision; when the server no longer has that history (410), the kind is listed again. Never rejects: a
 * problem is reported as a state.
 */
export async function follow(parts: WatchParts, options: FollowOptions): Promise<void> {
  await new Follower(parts, options).run();
}

class Follower {
  readonly #parts: WatchParts;
  readonly #options: FollowOptions;
  readonly #waiting: Change[] = [];
  /** The last received revision; undefined when the kind must be listed first. */
  #revision: string | undefined;
  #hasListed = false;
  #failures = 0;

  constructor(parts: WatchParts, options: FollowOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { signal } = this.#options;
    while (!signal.aborted) {
      try {
        if (this.#revision === undefined) await this.#list();
        await this.#watch();
      } catch (error) {
        if (signal.aborted) return;
        if (!(await this.#recover(toFailure(error)))) return;
      }
    }
  }

  async #list(): Promise<void> {
    const { path, query, listQuery, accept, onList, signal } = this.#options;
    this.#state({ kind: 'listing' });
    const { body } = await this.#parts.api.call(path, {
      query: { ...query, ...listQuery },
      signal,
      ...(accept === undefined ? {} : { accept }),
    });
    if (signal.aborted) return;
    const list = isObject(body) ? body : {};
    // The new list already contains the changes that were received, but not yet passed to `onChanges`. So these changes
    // are dropped.
    this.#waiting.length = 0;
    this.#revision = isObject(list.metadata) ? textOf(list.metadata.resourceVersion) : '';
    onList(list, this.#hasListed);
    this.#hasListed = true;
  }

  async #watch(): Promise<void> {
    const { path, query, accept, signal } = this.#options;
    const quiet = new AbortController();
    const either = AbortSignal.any([signal, quiet.signal]);
    const response = await this.#parts.api.open(path, {
      query: { ...query, watch: true, allowWatchBookmarks: true, resourceVersion: this.#revision },
      signal: either,
      ...(accept === undefined ? {} : { accept }),
    });
    this.#state({ kind: 'live' });
    this.#failures = 0;
    let cancel = (): void => undefined;
    const restart = (): void => {
      cancel();
      cancel = this.#parts.clock.after(silenceMs, () => quiet.abort());
    };
    try {
      for await (const line of linesOf(response, restart)) this.#onLine(line);
    } finally {
      cancel();
    }
    // The server ends each watch after some time, and the client then opens a new one. The pause prevents a tight loop.
    await sleep(this.#parts.clock, 100, signal);
  }

  #onLine(line: string): void {
    const event: unknown = JSON.parse(line);
    if (!isObject(event) || !isObject(event.object)) return;
    const { type, object } = event;
    if (type === 'ERROR') throw failureOf(0, object);
    if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED' && type !== 'BOOKMARK') return;
    this.#revision = revisionIn(object) ?? this.#revision;
    this.#waiting.push({ type, object });
    if (this.#waiting.length === 1) this.#parts.batch(() => this.#flush());
  }

  #flush(): void {
    const changes = this.#waiting.splice(0);
    if (changes.length > 0 && !this.#options.signal.aborted) this.#options.onChanges(changes);
  }

  /**
   * Handles a failed list or watch. Resolves with true when it is time for the next attempt, and with false when a
   * further attempt would be refused as well.
   */
  async #recover(failure: ApiFailure): Promise<boolean> {
    const { clock, random } = this.#parts;
    // A 410 for the watch's revision: the server no longer has this revision, so the kind is listed again. A 410 before
    // the watch has a revision is for the list: its continue token has expired, and the state becomes `refused`.
    if (failure.status === 410 && this.#revision !== undefined) {
      this.#revision = undefined;
      return true;
    }
    if ([400, 401, 403, 404, 405, 406, 410, 422].includes(failure.status)) {
      this.#state({ kind: 'refused', failure });
      return false;
    }
    this.#state({ kind: 'lost', failure });
    this.#failures += 1;
    const longest = Math.min(longestPauseMs, 250 * 2 ** this.#failures);
    await sleep(clock, longest * (0.5 + random() / 2), this.#options.signal);
    return true;
  }

  #state(state: WatchState): void {
    if (!this.#options.signal.aborted) this.#options.onState?.(state);
  }
}

/** Returns the revision of an object, or of the row of a table. */
function revisionIn(object: JsonObject): string | undefined {
  const [row] = isArray(object.rows) ? object.rows.filter(isObject) : [];
  const inner = row !== undefined && isObject(row.object) ? row.object : object;
  const metadata = isObject(inner.metadata) ? inner.metadata : object.metadata;
  const revision = isObject(metadata) ? textOf(metadata.resourceVersion) : '';
  return revision === '' ? undefined : revision;
}

/** Yields the lines of a response that are not blank. `onData` is called for all data, even for blank lines. */
async function* linesOf(response: Response, onData: () => void): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  onData();
  let rest = '';
  try {
    for (;;) {
      const { done, value = '' } = await reader.read();
      if (done) return;
      onData();
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      yield* lines.filter((line) => line.trim() !== '');
    }
  } finally {
    // Cancelling the reader closes the connection.
    void reader.cancel().catch(() => undefined);
  }
}
