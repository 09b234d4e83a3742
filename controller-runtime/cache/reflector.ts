import { isExpired } from '../api/index.ts';
import type { ApiObject, Clock, Logger, Model, WatchEvent } from '../api/index.ts';
import type { Client, ListOptions } from '../client/client.ts';
import { listEverything } from '../client/list-everything.ts';
import { ReconnectDelay } from '../client/http/reconnect-delay.ts';
import { sleep } from '../clock/sleep.ts';

/**
 * A watch that ends within this time and without an event counts as a failure, so that the reflector backs off and does
 * not reopen it continuously.
 */
const shortWatchMs = 1000;

/** The state of a reflector. After the wait of a `backingOff`, the reflector changes to the state `next`. */
export type ReflectorState =
  | { readonly kind: 'listing' }
  | { readonly kind: 'watching'; readonly revision: string }
  | { readonly kind: 'backingOff'; readonly delayMs: number; readonly next: ReflectorState };

/** Called with the objects and changes of the server. Must not throw. */
export interface ReflectorSink<T extends ApiObject> {
  /** Called with all objects, as of a revision. */
  replace(items: readonly T[], revision: string): void;
  /** Called with each change, in order. */
  apply(event: Extract<WatchEvent<T>, { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' }>): void;
  /** Called when the sink has received all changes up to this revision. */
  advance(revision: string): void;
}

export interface ReflectorParts<T extends ApiObject> {
  readonly client: Pick<Client, 'list' | 'watch'>;
  readonly model: Model<T>;
  readonly selection: Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a random number in [0, 1) for the jitter of the delays. */
  readonly random: () => number;
}

/**
 * Follows a kind: it lists the objects, and then watches from the list's revision. After a watch ends or fails, the
 * next watch starts at the last revision. Only 410 Expired causes a new list: at once, or after a delay if no event has
 * arrived since the previous 410. Failures are retried without limit. The delay is 400 to 800 ms at first, and doubles
 * with each failure, up to 15 to 30 s.
 */
export class Reflector<T extends ApiObject> {
  readonly #parts: ReflectorParts<T>;
  readonly #sink: ReflectorSink<T>;
  readonly #delay: ReconnectDelay;
  #state: ReflectorState = { kind: 'listing' };
  /** False from a 410 until the next event arrives. Another 410 in this time counts as a failure. */
  #progress = true;

  constructor(parts: ReflectorParts<T>, sink: ReflectorSink<T>) {
    this.#parts = parts;
    this.#sink = sink;
    this.#delay = new ReconnectDelay(parts);
  }

  get state(): ReflectorState {
    return this.#state;
  }

  /**
   * Follows the kind until the signal aborts, and resolves when everything has stopped. It may be called again after
   * that, and then begins with a list.
   */
  async run(signal: AbortSignal): Promise<void> {
    this.#state = { kind: 'listing' };
    while (!signal.aborted) this.#state = await this.#next(this.#state, signal);
  }

  async #next(state: ReflectorState, signal: AbortSignal): Promise<ReflectorState> {
    switch (state.kind) {
      case 'listing':
        return this.#list(signal);
      case 'watching':
        return this.#watch(state.revision, signal);
      case 'backingOff':
        await sleep(this.#parts.clock, state.delayMs, signal);
        return state.next;
    }
  }

  async #list(signal: AbortSignal): Promise<ReflectorState> {
    const { client, model, selection } = this.#parts;
    try {
      const { items, resourceVersion } = await listEverything(client, model, { ...selection, signal });
      if (signal.aborted) return { kind: 'listing' };
      this.#sink.replace(items, resourceVersion);
      return { kind: 'watching', revision: resourceVersion };
    } catch (error) {
      return this.#afterFailure(error, { kind: 'listing' }, signal);
    }
  }

  async #watch(from: string, signal: AbortSignal): Promise<ReflectorState> {
    const { client, model, selection, clock } = this.#parts;
    const startedMs = clock.monotonicMs();
    let revision = from;
    try {
      const options = { ...selection, resourceVersion: from, allowBookmarks: true, signal };
      for await (const event of client.watch(model, options)) {
        if (signal.aborted) break;
        revision = this.#take(event, revision);
      }
    } catch (error) {
      return this.#afterWatchError(error, revision, signal);
    }
    const watching: ReflectorState = { kind: 'watching', revision };
    const short = revision === from && clock.monotonicMs() - startedMs < shortWatchMs;
    return short ? this.#afterFailure(new Error('the watch ended as soon as it began'), watching, signal) : watching;
  }

  #take(event: WatchEvent<T>, revision: string): string {
    // A client rejects in place of delivering an ERROR event. This check only satisfies the compiler.
    if (event.type === 'ERROR') return revision;
    this.#progress = true;
    const { resourceVersion } = event.object.metadata;
    if (event.type === 'BOOKMARK') this.#sink.advance(resourceVersion);
    else this.#sink.apply(event);
    return resourceVersion;
  }

  #afterWatchError(error: unknown, revision: string, signal: AbortSignal): ReflectorState {
    if (!isExpired(error)) return this.#afterFailure(error, { kind: 'watching', revision }, signal);
    if (!this.#progress) return this.#afterFailure(error, { kind: 'listing' }, signal);
    this.#progress = false;
    this.#parts.logger.info({ revision }, 'the resource version of a watch has expired: listing again');
    return { kind: 'listing' };
  }

  #afterFailure(error: unknown, next: ReflectorState, signal: AbortSignal): ReflectorState {
    // An error that the stop of the reflector causes does not count as a failure.
    if (signal.aborted) return next;
    const delayMs = this.#delay.next();
    this.#parts.logger.warn({ err: error, delayMs, next: next.kind }, 'a list or watch of a kind failed; trying again');
    return { kind: 'backingOff', delayMs, next };
  }
}
