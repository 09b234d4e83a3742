import type { Clock } from '../api/index.ts';

/** The subject of an event. */
export interface InvolvedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** A single occurrence of an event. */
export interface Occurrence {
  readonly object: InvolvedObject;
  readonly type: 'Normal' | 'Warning';
  /** The reason, one word in UpperCamelCase. */
  readonly reason: string;
  readonly message: string;
  /** The id of the run that recorded the occurrence. */
  readonly reconcileID?: string;
}

/**
 * The event to write for one {@link Occurrence}. If `count` is 1, the event is new. Otherwise it repeats an earlier
 * event, which gets the new count.
 */
export interface CorrelatedEvent extends Occurrence {
  readonly name: string;
  readonly count: number;
  /** The time of the first occurrence, in milliseconds since 1970. */
  readonly firstTime: number;
  readonly lastTime: number;
}

interface Similar {
  readonly messages: Set<string>;
  lastMs: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

/**
 * The limits of {@link EventCorrelator}, as in client-go. Starting with message number `maxSimilar`, events that differ
 * only in their message become one event, until there is no such event for `similarMs`. For each object, a burst has at
 * most `burst` writes of events; one more is allowed every `refillMs`. Each map has at most `maxRemembered` entries.
 */
const maxSimilar = 10;
const similarMs = 600_000;
const burst = 25;
const refillMs = 300_000;
const maxRemembered = 4096;

/** The maximum length of an event's name. The name contains that of the object, which is cut off if necessary. */
const maxNameLength = 253;
const suffixLength = 16;

/**
 * Limits the number of events by the rules of client-go. An identical event only increases a count. Starting with the
 * tenth message, events that differ only in their message become one event, until there is no such event for ten
 * minutes. For each object, a burst has at most 25 writes of events, including those that only increase a count; one
 * more is allowed every five minutes.
 */
export class EventCorrelator {
  readonly #clock: Clock;
  readonly #uuid: () => string;
  readonly #similar = new BoundedMap<Similar>(maxRemembered);
  readonly #known = new BoundedMap<{ readonly name: string; readonly firstTime: number; count: number }>(maxRemembered);
  readonly #buckets = new BoundedMap<Bucket>(maxRemembered);

  constructor({ clock, uuid }: { readonly clock: Clock; readonly uuid: () => string }) {
    this.#clock = clock;
    this.#uuid = uuid;
  }

  /**
   * Returns the event to write; undefined when the object has had too many events. The count of the event increases in
   * both cases.
   */
  correlate(occurrence: Occurrence): CorrelatedEvent | undefined {
    const { object } = occurrence;
    const about = JSON.stringify([object.apiVersion, object.kind, object.namespace, object.name, object.uid]);
    const alike = JSON.stringify([about, occurrence.type, occurrence.reason]);
    const isCombined = this.#countSimilar(alike, occurrence.message) >= maxSimilar;
    const lastTime = this.#clock.now();
    const known = this.#known.take(isCombined ? alike : JSON.stringify([alike, occurrence.message]), () => ({
      name: this.#nameFor(object.name),
      firstTime: lastTime,
      count: 0,
    }));
    known.count += 1;
    if (!this.#takeToken(about)) return undefined;
    const message = isCombined ? `(combined from similar events): ${occurrence.message}` : occurrence.message;
    return { ...occurrence, message, ...known, lastTime };
  }

  /**
   * Returns the number of different messages of similar events, including the given message, but at most ten. The count
   * starts again when the last similar event was more than ten minutes ago.
   */
  #countSimilar(alike: string, message: string): number {
    const nowMs = this.#clock.monotonicMs();
    const similar = this.#similar.take(alike, () => ({ messages: new Set(), lastMs: nowMs }));
    if (nowMs - similar.lastMs > similarMs) similar.messages.clear();
    similar.lastMs = nowMs;
    similar.messages.add(message);
    const { size } = similar.messages;
    const [oldest] = similar.messages;
    if (size >= maxSimilar && oldest !== undefined) similar.messages.delete(oldest);
    return size;
  }

  #takeToken(about: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#buckets.take(about, () => ({ tokens: burst, atMs: nowMs }));
    bucket.tokens = Math.min(burst, bucket.tokens + (nowMs - bucket.atMs) / refillMs);
    bucket.atMs = nowMs;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  #nameFor(name: string): string {
    const suffix = this.#uuid().replaceAll('-', '').slice(0, suffixLength);
    const base = name.slice(0, maxNameLength - 1 - suffixLength).replace(/[^a-z0-9]+$/, '');
    return `${base}.${suffix}`;
  }
}

/** A map that drops the least recently used entries. */
class BoundedMap<V> {
  readonly #entries = new Map<string, V>();
  readonly #maxSize: number;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  /** Returns the value of a key, and makes the key the most recently used one. Creates the value if it is absent. */
  take(key: string, create: () => V): V {
    const value = this.#entries.get(key) ?? create();
    this.#entries.delete(key);
    this.#entries.set(key, value);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#maxSize && oldest !== undefined) this.#entries.delete(oldest);
    return value;
  }
}
