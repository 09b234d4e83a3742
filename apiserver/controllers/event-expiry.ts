import { isConflict, isNotFound, keyOf } from '@homeostat/controller-runtime/api';
import type { ApiObject, Clock, Logger, Timer } from '@homeostat/controller-runtime/api';
import { eventKind, eventsGroupKind } from '../builtin/event-kinds.ts';
import { decodeObject } from '../registry/object/object-codec.ts';
import type { Registry } from '../registry/registry.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { formatTime } from '../registry/object/object-codec.ts';
import { nextTurn } from '../turns/next-turn.ts';

/** One hour, like the default of kube-apiserver's `--event-ttl`. */
export const defaultEventTtlMs = 3_600_000;

/**
 * The time between two searches for expired events, while there are events. If `eventTtlMs` is shorter, the time is
 * shorter, too, but at least {@link pauseMs}.
 */
const intervalMs = 60_000;

/**
 * The number of events that are checked in one turn of the event loop. The deletions of the expired events among them
 * run concurrently. Requests run before the next events are checked.
 */
const judgedAtOnce = 100;

/**
 * The maximum number of deletions in one pass. More expired events are deleted in further passes, each after a pause of
 * {@link pauseMs}.
 */
const deletedPerPass = 1000;

const pauseMs = 1000;

export interface EventExpiryParts {
  readonly registry: Registry;
  readonly table: ResourceTable;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The time from an event's last occurrence to its deletion. */
  readonly eventTtlMs: number;
}

/**
 * Deletes events (`v1` and `events.k8s.io/v1`) when `eventTtlMs` has passed since their last occurrence. The event
 * itself determines when it expires, so several replicas may delete the same events. An event that occurs again before
 * its deletion remains.
 */
export class EventExpiry {
  readonly #parts: EventExpiryParts;
  readonly #followed = new Map<Resource, () => void>();
  #timer: Timer | undefined;
  #run: Promise<void> | undefined;
  #stopped = false;

  constructor(parts: EventExpiryParts) {
    this.#parts = parts;
    parts.table.on('opened', (resource) => this.#follow(resource));
    parts.table.on('closed', (resource) => this.#unfollow(resource));
  }

  /** True while nothing is being deleted. */
  isIdle(): boolean {
    return this.#run === undefined;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#parts.clock.clearTimeout(this.#timer);
    for (const unsubscribe of this.#followed.values()) unsubscribe();
    await this.#run;
  }

  #follow(resource: Resource): void {
    const { group, kind } = resource.model;
    if (kind !== eventKind.kind || (group !== eventKind.group && group !== eventsGroupKind.group)) return;
    this.#followed.set(
      resource,
      resource.feed.subscribe(() => this.#schedule(this.#intervalMs)),
    );
    if (resource.cache.size > 0) this.#schedule(this.#intervalMs);
  }

  #unfollow(resource: Resource): void {
    this.#followed.get(resource)?.();
    this.#followed.delete(resource);
  }

  #schedule(delayMs: number): void {
    if (this.#stopped || this.#timer !== undefined || this.#run !== undefined) return;
    this.#timer = this.#parts.clock.setTimeout(() => {
      this.#timer = undefined;
      this.#run = this.#work();
    }, delayMs);
    this.#timer.unref?.();
  }

  async #work(): Promise<void> {
    const isDone = await this.#pass();
    this.#run = undefined;
    if (!isDone) this.#schedule(pauseMs);
    else if (this.#hasEvents()) this.#schedule(this.#intervalMs);
  }

  get #intervalMs(): number {
    return Math.max(pauseMs, Math.min(intervalMs, this.#parts.eventTtlMs));
  }

  #hasEvents(): boolean {
    return [...this.#followed.keys()].some(({ cache }) => cache.size > 0);
  }

  /** Deletes expired events. Returns false when it stopped at the limit of one pass, so more of them may remain. */
  async #pass(): Promise<boolean> {
    let left = deletedPerPass;
    try {
      for (const resource of this.#followed.keys()) {
        left -= await this.#deleteExpired(resource, left);
        if (left <= 0) return false;
      }
    } catch (err) {
      this.#parts.logger.warn({ err }, 'expired events could not be deleted; trying again');
    }
    return true;
  }

  /**
   * Deletes expired events, and returns the number of attempted deletions. It checks only events that were created at
   * least `eventTtlMs` ago. No other event is expired, because {@link isExpired} counts the creation as an occurrence.
   */
  async #deleteExpired(resource: Resource, most: number): Promise<number> {
    const index = resource.cache.index('metadata.creationTimestamp');
    if (index === undefined) return 0;
    const unmade = { absent: false, order: false };
    for (let made = index.prepareCondition(unmade); made !== undefined; made = index.prepareCondition(unmade))
      await made;
    const created = index.values;
    const nowMs = this.#parts.clock.now();
    const { eventTtlMs } = this.#parts;
    const old = Array.from({ length: created.rankAfter(formatTime(nowMs - eventTtlMs)) }, (_each, at) =>
      created.entryAt(at),
    );
    let tried = 0;
    for (let from = 0; from < old.length && tried < most && !this.#stopped; from += judgedAtOnce) {
      const expired = old
        .slice(from, from + judgedAtOnce)
        .map(({ bytes }) => decodeObject(bytes))
        .filter((event) => isExpired(event, nowMs, eventTtlMs))
        .slice(0, most - tried);
      await Promise.all(expired.map((event) => this.#delete(resource, event)));
      if (expired.length === 0) await nextTurn('background');
      tried += expired.length;
    }
    return tried;
  }

  async #delete(resource: Resource, event: ApiObject): Promise<void> {
    const { resourceVersion } = event.metadata;
    try {
      await this.#parts.registry.delete(resource, keyOf(event), {
        preconditions: { resourceVersion },
        isOwnUpkeep: true,
      });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}

/**
 * The fields with the times of an event's occurrences, in `v1` and in `events.k8s.io/v1`. Clients may have written any
 * value.
 */
interface EventTimes {
  readonly lastTimestamp?: unknown;
  readonly deprecatedLastTimestamp?: unknown;
  readonly eventTime?: unknown;
  readonly series?: { readonly lastObservedTime?: unknown } | null;
}

/**
 * True for an expired event. Programs that report events have their own clocks, so a time is ignored if it is further
 * in the future than an event's lifetime.
 */
function isExpired(event: ApiObject & EventTimes, nowMs: number, ttlMs: number): boolean {
  if (event.metadata.deletionTimestamp !== undefined) return false;
  const { lastTimestamp, deprecatedLastTimestamp, eventTime, series } = event;
  const times = [lastTimestamp, deprecatedLastTimestamp, eventTime, series?.lastObservedTime];
  const believed = [event.metadata.creationTimestamp, ...times]
    .map((time) => (typeof time === 'string' ? Date.parse(time) : Number.NaN))
    .filter((atMs) => atMs <= nowMs + ttlMs);
  return Math.max(...believed) + ttlMs <= nowMs;
}
