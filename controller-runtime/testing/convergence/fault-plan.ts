import type { ClientRequest } from '../fakes/intercepted-client.ts';
import type { SweptCallFault } from './external-state.ts';

/** The restart of the controllers after a crash or a change of leaders. */
export interface Restart {
  /** The time without a running process. */
  readonly afterMs: number;
  /** The number of changes that the first list of a cache that lags does not contain; 0 means that no cache lags. */
  readonly changesBehind: number;
  /** The time for which a cache that lags gets no events after its first list. */
  readonly behindMs: number;
  /**
   * A bit mask of the kinds whose caches lag. Bit n selects each kind whose position in the list of models, counted
   * from 0 and modulo 32, is n.
   */
  readonly behindBits: number;
}

/** The failure of one request. */
export interface RequestFault {
  /** The type of the failure. The server executes the request for `loseAnswer`, but not for `conflict` and `refuse`. */
  readonly kind: 'conflict' | 'refuse' | 'loseAnswer';
  /** The time until the request rejects. With `loseAnswer`, it rejects later if its execution takes longer. */
  readonly lateMs: number;
  /** The time for which the caches of the request's kind receive no changes. */
  readonly behindMs: number;
}

/** A fault that a plan injects into a write of the controllers. */
export type WriteFault =
  | { readonly kind: 'crash'; readonly carriedOut: boolean; readonly restart: Restart }
  | { readonly kind: 'leaderChange'; readonly restart: Restart }
  | RequestFault;

/** A fault that a plan injects into a read of the controllers. Lists and watches of caches get {@link EventFault}s. */
type ReadFault = RequestFault & { readonly kind: 'refuse' };

/** A fault that a plan injects into an event on its way to a cache. */
export type EventFault =
  | { readonly kind: 'crash'; readonly restart: Restart }
  | { readonly kind: 'dropWatch' | 'expireWatch' | 'repeat' }
  | { readonly kind: 'hold'; readonly forMs: number };

/**
 * The faults of one run, by the number of the write, read, event or call to an external system into which the fault is
 * injected. Each of the four is counted from 1.
 */
export interface FaultPlan {
  readonly atWrite: ReadonlyMap<number, WriteFault>;
  readonly atRead: ReadonlyMap<number, ReadFault>;
  readonly atEvent: ReadonlyMap<number, EventFault>;
  readonly atCall: ReadonlyMap<number, SweptCallFault>;
}

/** The numbers of writes, reads, events and calls to external systems in the run without faults. */
export interface RunExtent {
  /** The verb of each write. */
  readonly writes: readonly ClientRequest['verb'][];
  readonly reads: number;
  readonly events: number;
  readonly calls: number;
}

export const noFaults: FaultPlan = Object.freeze({
  atWrite: new Map(),
  atRead: new Map(),
  atEvent: new Map(),
  atCall: new Map(),
});

const everyCache = ~0;

export const atOnce: Restart = Object.freeze({ afterMs: 0, changesBehind: 0, behindMs: 0, behindBits: everyCache });
/**
 * The time after which a write rejects because of a lost response, a refusal or a conflict. It is long enough that
 * everything that does not wait for the write can happen first, and short compared to timeouts.
 */
const lateMs = 100;
/**
 * The maximum number of reads that get a fault, and of calls to external systems that get one. The checker repeats the
 * scenario once for each of these reads and twice for each of these calls, so without this limit a controller that
 * polls would cause too many repetitions.
 */
const maxSwept = 100;
/**
 * The time for which caches receive no changes after the fault, so that the next attempts use caches that are out of
 * date.
 */
const behindMs = 500;

/**
 * Yields plans with a single fault each. For each write of the run without faults: a crash before it; crashes after it,
 * with caches that are up to date, one change behind or two changes behind; a lost response; a refusal; a conflict,
 * except for a create. For each read: a refusal. For each call to an external system: a failure and a lost response.
 * Of more than a hundred reads, only a hundred, evenly spread, get a fault; the same limit applies to the calls.
 */
export function* sweptFaults({ writes, reads, calls }: RunExtent): Generator<FaultPlan> {
  for (const [index, verb] of writes.entries()) {
    for (const fault of sweptWriteFaults) {
      // A create never conflicts.
      if (verb === 'create' && fault.kind === 'conflict') continue;
      yield { ...noFaults, atWrite: new Map([[index + 1, fault]]) };
    }
  }
  for (const read of spread(reads)) {
    yield { ...noFaults, atRead: new Map([[read, { kind: 'refuse', lateMs: 0, behindMs: 0 }]]) };
  }
  for (const call of spread(calls)) {
    for (const kind of ['fail', 'loseAnswer'] as const) yield { ...noFaults, atCall: new Map([[call, { kind }]]) };
  }
}

/** Yields at most a hundred of the numbers from 1 to `count`, evenly spread. */
function* spread(count: number): Generator<number> {
  const places = Math.min(count, maxSwept);
  for (let at = 0; at < places; at += 1) yield 1 + Math.floor((at * count) / places);
}

const sweptWriteFaults: readonly WriteFault[] = [
  ...[0, 1, 2].map(crashWithCachesBehind),
  { kind: 'crash', carriedOut: false, restart: atOnce },
  { kind: 'loseAnswer', lateMs, behindMs },
  { kind: 'refuse', lateMs, behindMs: 0 },
  { kind: 'conflict', lateMs, behindMs: 0 },
];

function crashWithCachesBehind(changesBehind: number): WriteFault {
  const restart = changesBehind === 0 ? atOnce : { ...atOnce, changesBehind, behindMs };
  return { kind: 'crash', carriedOut: true, restart };
}
