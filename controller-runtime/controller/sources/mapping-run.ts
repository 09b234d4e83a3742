import type { ApiObject, Clock, ObjectKey } from '../../api/index.ts';
import { linkAbort } from '../../client/abort.ts';
import type { MapContext, MappedKeys, PrioritizedKey, WatchSource } from '../definition/followed-kind.ts';
import { RunClient, type RunClientParts } from '../run/run-client.ts';

export interface MappingRunParts extends Omit<RunClientParts, 'abort' | 'reconcileID'> {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Aborts when the controller stops. */
  readonly stop: AbortSignal;
}

/** One call of a mapping, for one state of an object. */
export class MappingRun {
  /** The monotonic time at which the call began. */
  readonly sinceMs: number;
  readonly #parts: MappingRunParts;
  readonly #source: WatchSource;
  /**
   * The client of the mapping. It is created only when the mapping reads it, because most mappings use no client, and
   * tens of thousands of mappings are called at the start.
   */
  #client: RunClient | undefined;
  #abort: AbortController | undefined;
  #hasEnded = false;
  #left: Error | undefined;
  #reject: (reason: Error) => void = () => {};

  constructor(parts: MappingRunParts, source: WatchSource) {
    this.#parts = parts;
    this.#source = source;
    this.sinceMs = parts.clock.monotonicMs();
  }

  /**
   * Calls the mapping, and returns its keys. Rejects with the error that the mapping throws. At the timeout, the signal
   * of the mapping aborts, and `keysOf` rejects, although the call may still be under way. A mapping only reads, so the
   * next call may overlap with this one.
   */
  async keysOf(state: ApiObject): Promise<readonly (string | ObjectKey | PrioritizedKey)[]> {
    try {
      const keys = this.#source.map(state, this.#context());
      return [...(isIterable(keys) ? keys : await this.#inTime(keys))];
    } finally {
      this.#hasEnded = true;
      void this.#client?.end(this);
    }
  }

  /**
   * True when the call was abandoned: the mapping took longer than its timeout, or than the grace period of a
   * controller that stopped.
   */
  get isLeft(): boolean {
    return this.#left !== undefined;
  }

  /** Returns the error for requests that are made after the mapping has ended. */
  lateError(): Error {
    return this.#left ?? new Error('the mapping has ended, so its client refuses the request: is an await missing?');
  }

  /**
   * Aborts the signal of the mapping, and makes {@link keysOf} reject with `reason`, even if the author's mapping
   * function has not returned its keys yet.
   */
  leave(reason: Error): void {
    this.#left = reason;
    this.#aborting.abort(reason);
    void this.#client?.end(this);
    this.#reject(reason);
  }

  get #aborting(): AbortController {
    return (this.#abort ??= new AbortController());
  }

  #context(): MapContext {
    const clientOf = (): RunClient => (this.#client ??= this.#createClient());
    const signalOf = (): AbortSignal => this.#aborting.signal;
    return {
      get client() {
        return clientOf();
      },
      get signal() {
        return signalOf();
      },
    };
  }

  #createClient(): RunClient {
    const client = new RunClient({ ...this.#parts, abort: this.#aborting });
    if (this.#hasEnded) void client.end(this);
    return client;
  }

  /**
   * Waits for the keys of an asynchronous mapping, at most until the timeout. Most mappings are synchronous, and need
   * no timer.
   */
  async #inTime(keys: Promise<MappedKeys>): Promise<MappedKeys> {
    const { clock, timeoutMs, stop } = this.#parts;
    const unlink = linkAbort(this.#aborting, stop);
    const left = new Promise<never>((_, reject) => (this.#reject = reject));
    const late = new Error(`the mapping outlasted its timeout of ${timeoutMs} ms`);
    const timer = clock.setTimeout(() => this.leave(late), timeoutMs);
    try {
      return await Promise.race([keys, left]);
    } finally {
      clock.clearTimeout(timer);
      unlink();
    }
  }
}

function isIterable(keys: MappedKeys | Promise<MappedKeys>): keys is MappedKeys {
  return typeof keys !== 'object' || keys === null || Symbol.iterator in keys;
}
