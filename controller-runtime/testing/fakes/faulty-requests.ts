import { ApiError, reasonOf } from '../../api/index.ts';
import type { ApiObject, StatusReason, WatchEvent } from '../../api/index.ts';
import { FaultyWatch } from './faulty-watch.ts';
import type { WatchEnd } from './faulty-watch.ts';
import { describeRequest } from './intercepted-client.ts';
import type { ClientRequest, Interceptor } from './intercepted-client.ts';

/**
 * The fault of one request. When a fault makes the request reject, it rejects as soon as `until` has settled, or at
 * once if `until` is absent.
 */
export type ClientFault =
  /** The request is not carried out. It rejects with the given error; default: ServiceUnavailable (503). */
  | { readonly kind: 'refuse'; readonly error?: Error; readonly until?: Promise<unknown> }
  /** The request is not carried out, and rejects with Conflict (409), as if another writer had been faster. */
  | { readonly kind: 'conflict'; readonly until?: Promise<unknown> }
  /** The request is carried out, but rejects with ServiceUnavailable. */
  | { readonly kind: 'loseAnswer'; readonly until?: Promise<unknown> }
  /**
   * The request is carried out when this promise has resolved. If the promise rejects, the request rejects with the
   * same error, and is not carried out.
   */
  | { readonly kind: 'delay'; readonly until: Promise<unknown> }
  /**
   * The process ends at this request, which may be carried out or not. The request and all later requests of runs never
   * settle.
   */
  | { readonly kind: 'crash'; readonly carriedOut: boolean };

/** A request and its result. */
export interface LoggedRequest extends ClientRequest {
  /**
   * The outcome. For a failed request, it is the reason of the ApiError, or `Error` for any other error. It is
   * `pending` until the response arrives, and remains `pending` after a crash.
   */
  readonly outcome: 'pending' | 'ok' | 'Error' | StatusReason;
  /** The fault of the request. */
  readonly fault?: ClientFault['kind'];
}

/** Decides the faults of requests, in addition to those that were injected one by one. */
export interface FaultSource {
  readonly faultOf?: (request: ClientRequest) => ClientFault | undefined;
  readonly endBefore?: (request: ClientRequest, event: WatchEvent) => WatchEnd | undefined;
  /** Returns a response that replaces the server's; undefined for none. */
  readonly answerOf?: (request: ClientRequest) => object | undefined;
  /**
   * Called before and after a request. Returns true when the run that made the request is over; the request then never
   * settles.
   */
  readonly isOver?: (request: ClientRequest) => boolean;
  /** Called once, when a fault of the kind `crash`, or a call of {@link FaultyRequests.crash}, ends the process. */
  readonly onCrash?: () => void;
}

type Matches = (request: ClientRequest) => boolean;
type Logged = { -readonly [K in keyof LoggedRequest]: LoggedRequest[K] };

const neverAnswered = new Promise<never>(() => {});

/** Logs requests, and injects faults into some of them. */
export class FaultyRequests implements Interceptor {
  readonly log: LoggedRequest[] = [];
  readonly #source: FaultSource;
  readonly #waiting: { readonly fault: ClientFault; readonly matches: Matches }[] = [];
  readonly #watches = new Map<{ end(end: WatchEnd): void }, ClientRequest>();
  readonly #holds = new Set<{ readonly matches: Matches; readonly released: Promise<void> }>();
  readonly #underWay = new Set<ClientRequest>();
  #hasCrashed = false;

  constructor(source: FaultSource = {}) {
    this.#source = source;
  }

  inject(fault: ClientFault, matches: Matches = () => true): void {
    this.#waiting.push({ fault, matches });
  }

  endWatches(end: WatchEnd, matches: Matches = () => true): number {
    const ended = [...this.#watches].filter(([, request]) => matches(request));
    for (const [watch] of ended) watch.end(end);
    return ended.length;
  }

  holdEvents(matches: Matches = () => true): () => void {
    let resolve = (): void => {};
    const hold = { matches, released: new Promise<void>((done) => (resolve = done)) };
    this.#holds.add(hold);
    return () => {
      this.#holds.delete(hold);
      resolve();
    };
  }

  /** The requests that have not settled yet, except watches. */
  get underWay(): readonly ClientRequest[] {
    return [...this.#underWay];
  }

  /** True while the events of some watches are to be held back, even if there are no such events. */
  get isHolding(): boolean {
    return this.#holds.size > 0;
  }

  crash(): void {
    if (this.#hasCrashed) return;
    this.#hasCrashed = true;
    this.#source.onCrash?.();
  }

  async request<R>(request: ClientRequest, send: () => Promise<R>): Promise<R> {
    if (this.#isDead(request)) return this.#deadEnd(request);
    const logged: Logged = { ...request, outcome: 'pending' };
    this.log.push(logged);
    const fault = this.#takeFault(request);
    if (fault !== undefined) logged.fault = fault.kind;
    this.#underWay.add(logged);
    try {
      const answer = await this.#meet(fault, request, send);
      if (this.#isDead(request)) return await this.#deadEnd(request);
      logged.outcome = 'ok';
      return answer;
    } catch (error) {
      if (this.#isDead(request)) return await this.#deadEnd(request);
      logged.outcome = reasonOf(error) ?? 'Error';
      throw error;
    } finally {
      this.#underWay.delete(logged);
    }
  }

  async *watch<T extends ApiObject>(
    request: ClientRequest,
    open: (signal: AbortSignal) => AsyncIterable<WatchEvent<T>>,
    signal: AbortSignal | undefined,
  ): AsyncIterable<WatchEvent<T>> {
    const logged: Logged = { ...request, outcome: 'pending' };
    this.log.push(logged);
    const watch = new FaultyWatch({
      open,
      signal,
      gate: () => this.#gate(request),
      endBefore: (event) => this.#source.endBefore?.(request, event),
    });
    this.#watches.set(watch, request);
    try {
      for await (const event of watch.events()) {
        if (!this.#hasCrashed) yield event;
      }
      logged.outcome = 'ok';
    } catch (error) {
      logged.outcome = reasonOf(error) ?? 'Error';
      throw error;
    } finally {
      this.#watches.delete(watch);
    }
  }

  #takeFault(request: ClientRequest): ClientFault | undefined {
    const index = this.#waiting.findIndex(({ matches }) => matches(request));
    if (index >= 0) return this.#waiting.splice(index, 1)[0]?.fault;
    return this.#source.faultOf?.(request);
  }

  async #meet<R>(fault: ClientFault | undefined, request: ClientRequest, send: () => Promise<R>): Promise<R> {
    switch (fault?.kind) {
      case 'refuse':
        await fault.until;
        throw fault.error ?? unavailable(request, 'was refused');
      case 'conflict':
        await fault.until;
        throw new ApiError('Conflict', `${describeRequest(request)}: another writer was faster (injected)`);
      case 'loseAnswer':
        await send();
        await fault.until;
        throw unavailable(request, 'has lost its response');
      case 'delay':
        await fault.until;
        return send();
      case 'crash':
        if (fault.carriedOut) await send();
        this.crash();
        return this.#deadEnd(request);
      case undefined:
        return (this.#source.answerOf?.(request) as R | undefined) ?? send();
    }
  }

  #isDead(request: ClientRequest): boolean {
    return this.#hasCrashed || this.#source.isOver?.(request) === true;
  }

  /**
   * Returns the promise for a request of a crashed process, or of a run that is over. If a run sent the request, the
   * promise never settles. Otherwise it rejects, so that the process can be stopped.
   */
  #deadEnd(request: ClientRequest): Promise<never> {
    if (request.reconcileID !== undefined) return neverAnswered;
    return Promise.reject(unavailable(request, 'was made by a process that had crashed'));
  }

  async #gate(request: ClientRequest): Promise<void> {
    for (;;) {
      const hold = [...this.#holds].find(({ matches }) => matches(request));
      if (hold === undefined) return;
      await hold.released;
    }
  }
}

function unavailable(request: ClientRequest, what: string): ApiError {
  return new ApiError('ServiceUnavailable', `${describeRequest(request)} ${what} (injected)`);
}
