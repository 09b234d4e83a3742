import type { ApiObject, Clock, Logger, WatchEvent } from '../../api/index.ts';
import { isApiError, isExpired } from '../../api/index.ts';
import { sleep } from '../../clock/sleep.ts';
import { linkAbort } from '../abort.ts';
import type { WatchOptions } from '../client.ts';
import type { HttpTransport } from './http-transport.ts';
import type { Listed } from '../list-everything.ts';
import { watchQuery } from './query.ts';
import { ReconnectDelay } from './reconnect-delay.ts';
import { isTransient } from '../retryable-errors.ts';
import type { WatchProgress } from './watch-event-line.ts';
import { parseWatchLine } from './watch-event-line.ts';
import { readLines, WatchStreamError, watchSilence } from './watch-lines.ts';

/**
 * The maximum length of a line. An object has at most 1.5 MiB, so a line above this limit of 4 MiB cannot be an event.
 */
const maxLineBytes = 4 * 1024 * 1024;
/**
 * When the server ends a connection sooner than this after the request, and has sent no event except bookmarks, the
 * client waits before it reconnects.
 */
const shortConnectionMs = 1000;

export interface HttpWatchSource<T extends ApiObject> {
  readonly transport: HttpTransport;
  /** The path of the collection, which is listed and watched. */
  readonly path: string;
  /** The media type in which events are requested. Default: that of the transport. */
  readonly accept?: string;
  readonly kind: string;
  readonly apiVersion: string;
  /** Lists the existing objects, for a watch that begins with them. */
  readonly list: (signal: AbortSignal) => Promise<Listed<T>>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** The time without a byte after which the connection counts as lost. */
  readonly silenceMs: number;
}

/**
 * The result of {@link Client.watch} over HTTP. Each iterator is a separate watch; `return` of the iterator closes the
 * connection.
 */
export function watchOverHttp<T extends ApiObject>(
  source: HttpWatchSource<T>,
  options: WatchOptions,
): AsyncIterable<WatchEvent<T>> {
  return {
    [Symbol.asyncIterator]: () => {
      const watch = new HttpWatch(source, options);
      const events = watch.events();
      return {
        next: () => (watch.stopped ? events.return(undefined) : events.next()),
        return: () => {
          // The watch is stopped first, because `return` of a generator waits for a pending next(), which would wait
          // for the server.
          watch.stop();
          return events.return(undefined);
        },
      };
    },
  };
}

class HttpWatch<T extends ApiObject> {
  readonly #source: HttpWatchSource<T>;
  readonly #options: WatchOptions;
  readonly #stop = new AbortController();
  readonly #delay: ReconnectDelay;
  #revision: string;

  constructor(source: HttpWatchSource<T>, options: WatchOptions) {
    this.#source = source;
    this.#options = options;
    this.#delay = new ReconnectDelay(source);
    this.#revision = options.resourceVersion ?? '0';
  }

  /**
   * True after `stop` was called or the caller's signal has aborted. From then on, no event is delivered, not even one
   * that has already been received.
   */
  get stopped(): boolean {
    return this.#stop.signal.aborted || this.#options.signal?.aborted === true;
  }

  stop(): void {
    this.#stop.abort();
  }

  async *events(): AsyncGenerator<WatchEvent<T>, undefined> {
    const unlink = linkAbort(this.#stop, this.#options.signal);
    try {
      const { sendInitialEvents = this.#revision === '0' } = this.#options;
      if (sendInitialEvents || this.#revision === '0') yield* this.#begin(sendInitialEvents);
      while (!this.#stop.signal.aborted) {
        const failure = yield* this.#connection();
        if (!this.#stop.signal.aborted) await this.#afterConnection(failure);
      }
    } finally {
      unlink();
    }
  }

  /**
   * Begins the watch with a list, which returns the existing objects and the revision from which to watch. The server
   * could send initial events itself, but they are not in the order of revisions, so the watch could not be resumed
   * when the connection is lost between them.
   */
  async *#begin(sendInitialEvents: boolean): AsyncGenerator<WatchEvent<T>, void> {
    const listed = await this.#list();
    if (listed === undefined) return;
    this.#revision = listed.resourceVersion;
    if (!sendInitialEvents) return;
    for (const object of listed.items) yield { type: 'ADDED', object };
    const { allowBookmarks } = this.#options;
    if (this.#options.sendInitialEvents === true && allowBookmarks === true) yield this.#initialEventsEnd();
  }

  /**
   * Lists, and tries again after each transient failure. Rejects with any other error. Returns undefined when the watch
   * is stopped before the list succeeds.
   */
  async #list(): Promise<Listed<T> | undefined> {
    while (!this.#stop.signal.aborted) {
      try {
        return await this.#source.list(this.#stop.signal);
      } catch (error) {
        if (this.#stop.signal.aborted) break;
        if (!isTransient(error)) throw error;
        await this.#backOff(error);
      }
    }
    return undefined;
  }

  /**
   * Yields the events of one connection. Returns undefined if the server ended the response normally, and otherwise the
   * error with which the connection ended. An end within the first second, before the first change, counts as an error.
   */
  async *#connection(): AsyncGenerator<WatchEvent<T>, { readonly error: unknown } | undefined> {
    const { transport, clock, silenceMs, path, accept } = this.#source;
    const connection = new AbortController();
    const unlink = linkAbort(connection, this.#stop.signal);
    const startedMs = clock.monotonicMs();
    let received = 0;
    try {
      const query = watchQuery(this.#options, this.#revision);
      const request = { method: 'GET', path, query, ...(accept === undefined ? {} : { accept }) } as const;
      const chunks = await transport.open(request, connection);
      const onSilence = (): void => connection.abort(new WatchStreamError(`received no byte for ${silenceMs} ms`));
      for await (const line of readLines(watchSilence(chunks, { clock, silenceMs, onSilence }), maxLineBytes)) {
        if (line.trim() === '') continue;
        const event = this.#advance(line);
        if (event.type !== 'BOOKMARK') received += 1;
        if (event.type !== 'BOOKMARK' || this.#options.allowBookmarks === true) yield event;
      }
      const short = received === 0 && clock.monotonicMs() - startedMs < shortConnectionMs;
      return short ? { error: new WatchStreamError('the server ended the watch as soon as it began') } : undefined;
    } catch (error) {
      return { error: isApiError(error) ? error : (silenceOf(connection.signal) ?? error) };
    } finally {
      unlink();
      connection.abort();
    }
  }

  #advance(line: string): WatchProgress<T> {
    const event = parseWatchLine<T>(line);
    this.#revision = event.object.metadata.resourceVersion;
    return event;
  }

  async #afterConnection(failure: { readonly error: unknown } | undefined): Promise<void> {
    if (failure === undefined) return;
    if (isExpired(failure.error) || !isTransient(failure.error)) throw failure.error;
    await this.#backOff(failure.error);
  }

  async #backOff(error: unknown): Promise<void> {
    const { clock, logger, path } = this.#source;
    const asked = isApiError(error) ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
    const delayMs = Math.max(asked, this.#delay.next());
    logger.warn({ path, revision: this.#revision, delayMs, err: error }, 'a watch was interrupted and will be resumed');
    await sleep(clock, delayMs, this.#stop.signal);
  }

  #initialEventsEnd(): WatchEvent<T> {
    const annotations = Object.freeze({ 'k8s.io/initial-events-end': 'true' });
    const metadata = Object.freeze({ resourceVersion: this.#revision, annotations });
    const { apiVersion, kind } = this.#source;
    return Object.freeze({ type: 'BOOKMARK', object: Object.freeze({ apiVersion, kind, metadata }) });
  }
}

function silenceOf(signal: AbortSignal): WatchStreamError | undefined {
  return signal.reason instanceof WatchStreamError ? signal.reason : undefined;
}
