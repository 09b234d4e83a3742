import { ApiError } from '@homeostat/controller-runtime/api';
import type { Clock, Timer } from '@homeostat/controller-runtime/api';

/**
 * When two requests in a row come from different identities, then for this time each identity gets only its share of
 * the seats. Each further such pair of requests restarts the time.
 */
const sharedMs = 10_000;

/** Determines whether several identities currently send requests. It needs no timer. */
export class Contention {
  readonly #clock: Clock;
  #last: string | undefined;
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that an identity has sent a request. */
  note(identity: string): void {
    if (identity === this.#last) return;
    if (this.#last !== undefined) this.#untilMs = this.#clock.monotonicMs() + sharedMs;
    this.#last = identity;
  }

  isShared(): boolean {
    return this.#clock.monotonicMs() < this.#untilMs;
  }
}

/** The number of seats of a level, and how many of them one identity may have. */
export interface SeatLimits {
  readonly inAll: number;
  readonly ofOne: number;
}

export interface PriorityLevelParts {
  readonly name: string;
  /** The limits on the seats of the level, and of one identity in it, while several identities send requests. */
  readonly shared: SeatLimits;
  /**
   * The limits while only one identity sends requests. It may then have more seats than its share among several
   * identities.
   */
  readonly alone: SeatLimits;
  readonly contention: Contention;
  readonly clock: Clock;
}

/** The maximum number of waiting requests of one identity. Further requests are refused (429). */
const maxQueuedOfOne = 4096;

/**
 * The maximum number of all waiting requests. When one more request arrives, the last request of the longest queue is
 * refused (429).
 */
const maxQueuedInAll = 10_000;

/** How long a request may wait. A request that waits longer is refused (429). */
const maxWaitMs = 15_000;

const sweepMs = 1000;

/** The client of a waiting request. `closed` is true when the client has disconnected. */
export interface WaitingClient {
  readonly closed: boolean;
}

interface Waiting {
  readonly cost: number;
  readonly reader: WaitingClient;
  readonly sinceMs: number;
  readonly resolve: (flow: Flow) => void;
  readonly reject: (error: ApiError) => void;
}

/** The requests of one identity in one level. */
export class Flow {
  readonly identity: string;
  /** The number of seats of the flow's running requests. */
  inUse = 0;
  /** The waiting requests in the order of arrival. */
  readonly queue: Waiting[] = [];

  constructor(identity: string) {
    this.identity = identity;
  }
}

/** The number of idle flows that are kept, so that most requests need not create one. */
const maxIdleFlows = 256;

/**
 * Shares seats among identities. A free seat goes to the waiting identity with the fewest seats, and among equals to
 * the one that has waited longest. The requests of one identity keep their order. So a client that sends more than its
 * share delays only its own requests.
 */
export class PriorityLevel {
  readonly name: string;
  readonly #parts: PriorityLevelParts;
  readonly #flows = new Map<string, Flow>();
  /** The flows with waiting requests, in the order in which they last got a seat or began to wait. */
  readonly #waiting = new Set<Flow>();
  #inUse = 0;
  #queued = 0;
  #refused = 0;
  /**
   * True when the last distribution of free seats stopped at a request that needs more seats than are free. Until the
   * next distribution, no other request may take the free seats.
   */
  #isReserved = false;
  #sweep: Timer | undefined;

  constructor(parts: PriorityLevelParts) {
    this.name = parts.name;
    this.#parts = parts;
  }

  get inUse(): number {
    return this.#inUse;
  }

  get queued(): number {
    return this.#queued;
  }

  /** The number of requests that were refused. */
  get refused(): number {
    return this.#refused;
  }

  /**
   * Takes seats for a request, immediately or after a wait. Call {@link leave} with the flow and the same cost when the
   * request has ended. Throws ApiError TooManyRequests when too many requests of the identity wait. Rejects with the
   * same error when the request is removed from the queue: after the maximum wait, when its client has disconnected, or
   * when too many requests wait in all.
   */
  enter(identity: string, cost: number, reader: WaitingClient): Flow | Promise<Flow> {
    let flow = this.#flows.get(identity);
    if (flow === undefined) {
      flow = new Flow(identity);
      this.#flows.set(identity, flow);
    }
    if (this.#isReserved || flow.queue.length > 0 || !this.#fits(flow, cost)) return this.#enqueue(flow, cost, reader);
    flow.inUse += cost;
    this.#inUse += cost;
    return flow;
  }

  /** Frees the seats of a request. */
  leave(flow: Flow, cost: number): void {
    flow.inUse -= cost;
    this.#inUse -= cost;
    if (this.#queued > 0) this.#dispatch();
    if (this.#flows.size > maxIdleFlows) this.#forgetIdle(flow);
  }

  #fits(flow: Flow, cost: number): boolean {
    const { shared, alone, contention } = this.#parts;
    if (this.#inUse + cost <= shared.inAll && flow.inUse + cost <= shared.ofOne) return true;
    if (contention.isShared()) return false;
    return this.#inUse + cost <= alone.inAll && flow.inUse + cost <= alone.ofOne;
  }

  #enqueue(flow: Flow, cost: number, reader: WaitingClient): Promise<Flow> {
    if (flow.queue.length >= maxQueuedOfOne) throw this.#refusal();
    if (this.#queued >= maxQueuedInAll) this.#dropFrom(this.#longest());
    const sinceMs = this.#parts.clock.monotonicMs();
    const waited = new Promise<Flow>((resolve, reject) => flow.queue.push({ cost, reader, sinceMs, resolve, reject }));
    this.#queued += 1;
    this.#waiting.add(flow);
    this.#sweepLater();
    return waited;
  }

  #dispatch(): void {
    this.#isReserved = false;
    for (let flow = this.#next(); flow !== undefined; flow = this.#next()) {
      const [first] = flow.queue;
      if (first === undefined) return;
      if (!this.#fits(flow, first.cost)) {
        this.#isReserved = true;
        return;
      }
      this.#shift(flow);
      if (first.reader.closed) {
        first.reject(this.#refusal());
        continue;
      }
      flow.inUse += first.cost;
      this.#inUse += first.cost;
      first.resolve(flow);
    }
  }

  /** Returns the flow with the fewest seats, among the waiting flows that may have more seats. */
  #next(): Flow | undefined {
    const { shared, alone, contention } = this.#parts;
    const { ofOne } = contention.isShared() ? shared : alone;
    let best: Flow | undefined;
    for (const flow of this.#waiting) {
      if (flow.inUse === 0) return flow;
      const needed = flow.inUse + (flow.queue[0]?.cost ?? 0);
      if (needed <= ofOne && (best === undefined || flow.inUse < best.inUse)) best = flow;
    }
    return best;
  }

  /** Removes the first request of a flow, and moves the flow to the end of the order. */
  #shift(flow: Flow): void {
    flow.queue.shift();
    this.#queued -= 1;
    this.#waiting.delete(flow);
    if (flow.queue.length > 0) this.#waiting.add(flow);
  }

  #longest(): Flow | undefined {
    let longest: Flow | undefined;
    for (const flow of this.#waiting) if (flow.queue.length > (longest?.queue.length ?? 0)) longest = flow;
    return longest;
  }

  #dropFrom(flow: Flow | undefined): void {
    const last = flow?.queue.pop();
    if (flow === undefined || last === undefined) return;
    this.#queued -= 1;
    if (flow.queue.length === 0) this.#waiting.delete(flow);
    last.reject(this.#refusal());
  }

  #refusal(): ApiError {
    this.#refused += 1;
    const message = 'too many requests of this user are waiting, please try again later';
    return new ApiError('TooManyRequests', message, { retryAfterSeconds: 1 });
  }

  #sweepLater(): void {
    if (this.#sweep !== undefined) return;
    this.#sweep = this.#parts.clock.setTimeout(() => {
      this.#sweep = undefined;
      this.#sweepQueues();
    }, sweepMs);
    this.#sweep.unref?.();
  }

  /**
   * Refuses requests from the front of each queue, up to the first one that may still wait: one that has not waited too
   * long, and whose client is still connected.
   */
  #sweepQueues(): void {
    const nowMs = this.#parts.clock.monotonicMs();
    for (const flow of this.#waiting) {
      for (let [first] = flow.queue; first !== undefined; [first] = flow.queue) {
        if (!first.reader.closed && nowMs - first.sinceMs < maxWaitMs) break;
        flow.queue.shift();
        this.#queued -= 1;
        first.reject(this.#refusal());
      }
      if (flow.queue.length === 0) this.#waiting.delete(flow);
      this.#forgetIdle(flow);
    }
    this.#dispatch();
    if (this.#queued > 0) this.#sweepLater();
  }

  #forgetIdle(flow: Flow): void {
    if (flow.inUse > 0 || flow.queue.length > 0 || this.#flows.size <= maxIdleFlows) return;
    this.#flows.delete(flow.identity);
  }
}
