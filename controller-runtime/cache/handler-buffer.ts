import type { ApiObject } from '../api/index.ts';
import { coalesce } from './handler-event.ts';
import type { HandlerEvent } from './handler-event.ts';
import type { HandlerRegistration, InformerHandler } from '../client/informer.ts';

/** Deliveries in one turn of the event loop; between turns, other handlers and I/O get theirs. */
const deliveriesPerTurn = 100;
/** More waiting events than this are coalesced. */
const coalesceAbove = 10_000;

export interface HandlerBufferOptions {
  /** Called with what a handler throws or rejects with. Must not throw. */
  readonly report: (error: unknown) => void;
  /** Called once, by {@link HandlerBuffer.remove}. */
  readonly onRemove?: () => void;
}

/**
 * The events of one handler, delivered in order and one at a time, beginning in a later microtask than their `push`.
 * A handler that returns a promise gets its next event when that has settled. Beyond 10,000 waiting events the
 * buffer drops intermediate states of objects, so that its size is bounded by the number of objects.
 */
export class HandlerBuffer<T extends ApiObject> implements HandlerRegistration {
  readonly #handler: InformerHandler<T>;
  readonly #options: HandlerBufferOptions;
  #waiting: HandlerEvent<T>[] = [];
  #coalesceAbove = coalesceAbove;
  #synced = false;
  #removed = false;
  /** Settles when nothing waits any more; undefined: nothing waits. */
  #delivery: Promise<void> | undefined;

  constructor(handler: InformerHandler<T>, options: HandlerBufferOptions) {
    this.#handler = handler;
    this.#options = options;
  }

  /** Adds one event. `synced` is pushed once, after the initial objects. */
  push(event: HandlerEvent<T>): void {
    if (this.#removed) return;
    this.#waiting.push(event);
    if (this.#waiting.length > this.#coalesceAbove) this.#coalesce();
    this.#delivery ??= Promise.resolve().then(() => this.#deliverAll());
  }

  hasSynced(): boolean {
    return this.#synced;
  }

  isIdle(): boolean {
    return this.#delivery === undefined;
  }

  /** Resolves once nothing waits and no call is under way. */
  async drained(): Promise<void> {
    while (this.#delivery !== undefined) await this.#delivery;
  }

  /** No call begins after this one. What waits is dropped. */
  remove(): void {
    if (this.#removed) return;
    this.#removed = true;
    this.#waiting = [];
    this.#options.onRemove?.();
  }

  async #deliverAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, deliveriesPerTurn);
      for (const event of batch) await this.#deliver(event);
      if (this.#waiting.length > 0) await nextTurn();
    }
    this.#coalesceAbove = coalesceAbove;
    this.#delivery = undefined;
  }

  async #deliver(event: HandlerEvent<T>): Promise<void> {
    if (this.#removed) return;
    try {
      // An async function passes for one that returns void: its promise is waited for.
      await (this.#call(event) as unknown);
    } catch (error) {
      this.#options.report(error);
    }
  }

  #call(event: HandlerEvent<T>): void {
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

  /** An object whose last state could not be read has not been delivered yet. */
  #update(event: Extract<HandlerEvent<T>, { readonly kind: 'update' }>): void {
    const { object } = event;
    let previous: T;
    try {
      previous = event.previous;
    } catch (error) {
      this.#options.report(error);
      return this.#handler.onAdd?.(object, { initial: false });
    }
    return this.#handler.onUpdate?.(previous, object);
  }

  #coalesce(): void {
    this.#waiting = coalesce(this.#waiting);
    // Where little could be dropped, the next attempt waits until the buffer has doubled: linear in all.
    this.#coalesceAbove = Math.max(coalesceAbove, this.#waiting.length * 2);
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
