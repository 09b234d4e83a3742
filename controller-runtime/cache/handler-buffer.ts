import type { ApiObject } from '../api/index.ts';
import { coalesce } from './handler-event.ts';
import type { HandlerEvent } from './handler-event.ts';
import type { HandlerRegistration, InformerHandler } from '../client/informer.ts';
import { nextTurn } from '../clock/next-turn.ts';

/** The maximum number of deliveries in one turn of the event loop. Other handlers and I/O run between two turns. */
const deliveriesPerTurn = 100;
/** The number of waiting events above which the events of each object are combined. */
const coalesceAbove = 10_000;

export interface HandlerBufferParts {
  /** Called with the error that a handler throws or rejects with. Must not throw. */
  readonly report: (error: unknown) => void;
  /** Called once, when {@link HandlerBuffer.remove} is called. */
  readonly onRemove?: () => void;
}

/**
 * Delivers the events of one handler in order and one at a time, always after `push` has returned. A handler that
 * returns a promise receives its next event when the promise has settled. Beyond 10,000 waiting events the buffer drops
 * intermediate states of objects, so that its size is bounded by the number of objects.
 */
export class HandlerBuffer<T extends ApiObject> implements HandlerRegistration {
  readonly #handler: InformerHandler<T>;
  readonly #parts: HandlerBufferParts;
  /** The events that waited already when {@link pushAll} was called. They are delivered before those of `pushAll`. */
  #ahead: HandlerEvent<T>[] = [];
  #snapshot: Iterator<HandlerEvent<T>> | undefined;
  #waiting: HandlerEvent<T>[] = [];
  #coalesceAbove = coalesceAbove;
  #synced = false;
  #removed = false;
  /** The promise of the current delivery; it settles when no event waits. Undefined when no delivery is under way. */
  #delivery: Promise<void> | undefined;

  constructor(handler: InformerHandler<T>, parts: HandlerBufferParts) {
    this.#handler = handler;
    this.#parts = parts;
  }

  /**
   * Adds a snapshot: the events of an iterable, which has an event for each object. The handler receives these events
   * after the events that wait already, and before all events that are pushed later. The buffer takes each event from
   * the iterable only shortly before its delivery, because a snapshot can have a hundred thousand events. So the caller
   * must ensure that later changes of objects do not affect these events. Ignores the snapshot if the buffer has
   * not taken all events of the previous snapshot yet.
   */
  pushAll(events: Iterable<HandlerEvent<T>>): void {
    if (this.#removed || this.#snapshot !== undefined) return;
    [this.#ahead, this.#waiting] = [this.#waiting, []];
    this.#snapshot = events[Symbol.iterator]();
    this.#start();
  }

  /** Adds one event. It is delivered after all events that wait already. */
  push(event: HandlerEvent<T>): void {
    if (this.#removed) return;
    this.#waiting.push(event);
    if (this.#waiting.length > this.#coalesceAbove) this.#coalesce();
    this.#start();
  }

  hasSynced(): boolean {
    return this.#synced;
  }

  isIdle(): boolean {
    return this.#delivery === undefined;
  }

  /** Resolves once no event waits and no call is under way. */
  async drained(): Promise<void> {
    while (this.#delivery !== undefined) await this.#delivery;
  }

  /** Drops the waiting events. The handler is not called again. */
  remove(): void {
    if (this.#removed) return;
    this.#removed = true;
    [this.#ahead, this.#waiting, this.#snapshot] = [[], [], undefined];
    this.#parts.onRemove?.();
  }

  #start(): void {
    this.#delivery ??= Promise.resolve().then(() => this.#deliverAll());
  }

  async #deliverAll(): Promise<void> {
    while (this.#isWaiting()) {
      for (const event of this.#takeBatch()) await this.#deliver(event);
      if (this.#isWaiting()) await nextTurn();
    }
    this.#coalesceAbove = coalesceAbove;
    this.#delivery = undefined;
  }

  #isWaiting(): boolean {
    return this.#snapshot !== undefined || this.#waiting.length > 0;
  }

  /**
   * Returns the next events in their order. At the end of the snapshot that {@link pushAll} added, the list may be
   * empty although more events wait.
   */
  #takeBatch(): readonly HandlerEvent<T>[] {
    if (this.#ahead.length > 0) return this.#ahead.splice(0, deliveriesPerTurn);
    if (this.#snapshot === undefined) return this.#waiting.splice(0, deliveriesPerTurn);
    const batch: HandlerEvent<T>[] = [];
    while (batch.length < deliveriesPerTurn) {
      const next = this.#snapshot.next();
      if (next.done === true) {
        this.#snapshot = undefined;
        break;
      }
      batch.push(next.value);
    }
    return batch;
  }

  async #deliver(event: HandlerEvent<T>): Promise<void> {
    if (this.#removed) return;
    try {
      await this.#call(event);
    } catch (error) {
      this.#parts.report(error);
    }
  }

  /**
   * Returns the result of the handler's method. An async method returns a promise, although the interface declares
   * `void`: TypeScript accepts this.
   */
  #call(event: HandlerEvent<T>): unknown {
    switch (event.kind) {
      case 'add':
        return this.#handler.onAdd?.(event.object, { initial: event.initial });
      case 'update':
        return this.#update(event);
      case 'delete':
        return this.#handler.onDelete?.(event.object);
      case 'synced':
        this.#synced = true;
        return undefined;
    }
  }

  /**
   * Calls the handler for an update. If the previous state of the object cannot be read, delivers the update as an
   * addition: the earlier event with that state could not be delivered either, so the handler does not know the state.
   */
  #update(event: Extract<HandlerEvent<T>, { readonly kind: 'update' }>): void {
    const { object } = event;
    let previous: T;
    try {
      previous = event.previous;
    } catch (error) {
      this.#parts.report(error);
      return this.#handler.onAdd?.(object, { initial: false });
    }
    return this.#handler.onUpdate?.(previous, object);
  }

  #coalesce(): void {
    this.#waiting = coalesce(this.#waiting);
    // When few events could be dropped, the buffer is compacted again only after it has doubled, so that the work is
    // linear in the number of events.
    this.#coalesceAbove = Math.max(coalesceAbove, this.#waiting.length * 2);
  }
}
