import { isConflict, isNotFound, keyOf } from '@homeostat/controller-runtime/api';
import type { ApiObject, Clock, Logger, Timer } from '@homeostat/controller-runtime/api';
import { eventKind, eventsGroupKind } from '../builtin/event-kinds.ts';
import { decodeObject } from '../registry/object/object-codec.ts';
import type { Registry } from '../registry/registry.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { formatTime } from '../registry/object/time.ts';
import { nextTurn } from '../turns/next-turn.ts';

/** An hour, as kube-apiserver's `--event-ttl`. */
export const defaultEventTtlMs = 3_600_000;

/** Time between two searches for expired events, while there are any; shorter when `eventTtlMs` is. */
const intervalMs = 60_000;

/** Events judged, and deleted, at the same time; requests get their turn in between. */
const judgedAtOnce = 100;

/** Deletions of one pass: a flood of old events goes in pieces, {@link pauseMs} apart. */
const deletedPerPass = 1000;

const pauseMs = 1000;

export interface EventExpiryOptions {
  readonly registry: Registry;
  readonly table: ResourceTable;
  readonly clock: Clock;
  readonly logger: Logger;
  /** From an event's last occurrence to its deletion. */
  readonly eventTtlMs: number;
}

/**
 * Deletes events (`v1` and `events.k8s.io/v1`) some time after they last occurred. Whether one has expired stands in the
 * event itself, so several replicas may delete the same ones; one that occurs again meanwhile stays.
 */
export class EventExpiry {
  readonly #options: EventExpiryOptions;
  readonly #followed = new Map<Resource, () => void>();
  #timer: Timer | undefined;
  #run: Promise<void> | undefined;
  #stopped = false;

  constructor(options: EventExpiryOptions) {
    this.#options = options;
    options.table.on('opened', (resource) => this.#follow(resource));
    options.table.on('closed', (resource) => this.#unfollow(resource));
  }

  /** True while nothing is being deleted. */
  isIdle(): boolean {
    return this.#run === undefined;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#options.clock.clearTimeout(this.#timer);
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
    this.#timer = this.#options.clock.setTimeout(() => {
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
    return Math.max(pauseMs, Math.min(intervalMs, this.#options.eventTtlMs));
  }

  #hasEvents(): boolean {
    return [...this.#followed.keys()].some(({ cache }) => cache.size > 0);
  }

  /** False when there is more to delete than one pass takes. */
  async #pass(): Promise<boolean> {
    let left = deletedPerPass;
    try {
      for (const resource of this.#followed.keys()) {
        left -= await this.#deleteExpired(resource, left);
        if (left <= 0) return false;
      }
    } catch (err) {
      this.#options.logger.warn({ err }, 'events that have expired could not be deleted; trying again');
    }
    return true;
  }

  /** How many were tried, of those that are older than the time to live: an event never occurs before its creation. */
  async #deleteExpired(resource: Resource, most: number): Promise<number> {
    const created = resource.cache.index('metadata.creationTimestamp')?.values;
    if (created === undefined) return 0;
    const nowMs = this.#options.clock.now();
    const { eventTtlMs } = this.#options;
    const old = Array.from({ length: created.rankAfter(formatTime(nowMs - eventTtlMs)) }, (_each, at) =>
      created.entryAt(at),
    );
    let tried = 0;
    for (let from = 0; from < old.length && tried < most && !this.#stopped; from += judgedAtOnce) {
      const expired = old
        .slice(from, from + judgedAtOnce)
        .map(({ bytes }) => decodeObject(bytes))
        .filter((event) => isExpired(event, nowMs, eventTtlMs));
      await Promise.all(expired.map((event) => this.#delete(resource, event)));
      if (expired.length === 0) await nextTurn('background');
      tried += expired.length;
    }
    return tried;
  }

  async #delete(resource: Resource, event: ApiObject): Promise<void> {
    const { resourceVersion } = event.metadata;
    try {
      await this.#options.registry.delete(resource, keyOf(event), { preconditions: { resourceVersion } });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}

/** The fields of both forms of an event that tell when it was seen; it is what clients made of it. */
interface EventTimes {
  readonly lastTimestamp?: unknown;
  readonly deprecatedLastTimestamp?: unknown;
  readonly eventTime?: unknown;
  readonly series?: { readonly lastObservedTime?: unknown } | null;
}

/** Reporters have clocks of their own: a time that is further ahead than an event lives is not believed. */
function isExpired(event: ApiObject & EventTimes, nowMs: number, ttlMs: number): boolean {
  if (event.metadata.deletionTimestamp !== undefined) return false;
  const { lastTimestamp, deprecatedLastTimestamp, eventTime, series } = event;
  const times = [lastTimestamp, deprecatedLastTimestamp, eventTime, series?.lastObservedTime];
  const believed = [event.metadata.creationTimestamp, ...times]
    .map((time) => (typeof time === 'string' ? Date.parse(time) : Number.NaN))
    .filter((atMs) => atMs <= nowMs + ttlMs);
  return Math.max(...believed) + ttlMs <= nowMs;
}
