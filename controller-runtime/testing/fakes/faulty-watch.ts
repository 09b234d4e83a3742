import { ApiError } from '../../api/index.ts';
import type { ApiObject, WatchEvent } from '../../api/index.ts';
import { aborted, linkAbort } from '../../client/abort.ts';

/** The cause of a watch's end: a lost connection, or a server that no longer has the history (410). */
export type WatchEnd = 'drop' | 'expire';

export interface FaultyWatchParts<T extends ApiObject> {
  readonly open: (signal: AbortSignal) => AsyncIterable<WatchEvent<T>>;
  readonly signal: AbortSignal | undefined;
  /** Called before each event. The event is delivered when the promise has resolved. */
  readonly gate: () => Promise<void>;
  /**
   * Called before each event. When it returns a value other than undefined, the event is not delivered, and the watch
   * ends.
   */
  readonly endBefore: (event: WatchEvent<T>) => WatchEnd | undefined;
}

/** A watch that a test can end, and whose events a test can hold back. */
export class FaultyWatch<T extends ApiObject> {
  readonly #parts: FaultyWatchParts<T>;
  readonly #ended: Promise<WatchEnd>;
  #end: (end: WatchEnd) => void = () => {};

  constructor(parts: FaultyWatchParts<T>) {
    this.#parts = parts;
    this.#ended = new Promise((resolve) => (this.#end = resolve));
  }

  /** The events. They can be iterated only once; the iteration rejects when a test ends the watch. */
  async *events(): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const stop = new AbortController();
    const unlink = linkAbort(stop, this.#parts.signal);
    const stopped = aborted(stop.signal);
    const iterator = this.#parts.open(stop.signal)[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await Promise.race([iterator.next(), this.#ended]);
        if (typeof next === 'string') throw errorOf(next);
        if (next.done === true) return;
        const end = this.#parts.endBefore(next.value);
        if (end !== undefined) throw errorOf(end);
        const ended = await Promise.race([this.#parts.gate(), this.#ended, stopped]);
        if (stop.signal.aborted) return;
        if (ended !== undefined) throw errorOf(ended);
        yield next.value;
      }
    } finally {
      unlink();
      // The source is aborted first, because a pending next() would block return().
      stop.abort();
      await iterator.return?.();
    }
  }

  end(end: WatchEnd): void {
    this.#end(end);
  }
}

function errorOf(end: WatchEnd): ApiError {
  if (end === 'expire') return new ApiError('Expired', 'the history of the watch is gone (injected)');
  return new ApiError('ServiceUnavailable', 'the connection of the watch was lost (injected)');
}
