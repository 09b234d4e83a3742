import type { ApiObject, Clock } from '../api/index.ts';
import type { HandlerOptions, HandlerRegistration, InformerHandler } from '../client/informer.ts';
import { endsWithin } from '../clock/sleep.ts';
import { HandlerBuffer } from './handler-buffer.ts';
import type { HandlerEvent, ObjectEvent } from './handler-event.ts';

export interface HandlerGroupParts<T extends ApiObject> {
  readonly clock: Clock;
  /** Called with each error of a handler, and with each error of reading an object for a handler. Must not throw. */
  readonly report: (error: unknown) => void;
  /**
   * Returns an event for each object that exists at the time of the call: an addition for `initial`, or an update
   * without a change for `resync`. The result can be iterated over several times.
   */
  readonly present: (as: 'initial' | 'resync') => Iterable<ObjectEvent<T>>;
}

interface Member<T extends ApiObject> {
  readonly buffer: HandlerBuffer<T>;
  readonly resyncMs: number | undefined;
  /**
   * True once the events of all existing objects were added to the handler's buffer. Before that, no changes are added
   * to the buffer.
   */
  isTold: boolean;
  timer: object | undefined;
}

/**
 * The handlers of one informer. Each handler receives all objects once the cache is complete, then the changes. A
 * handler with a resync period also receives all objects again after each period.
 */
export class HandlerGroup<T extends ApiObject> {
  readonly #parts: HandlerGroupParts<T>;
  readonly #members = new Set<Member<T>>();
  #isOpen = false;

  constructor(parts: HandlerGroupParts<T>) {
    this.#parts = parts;
  }

  add(handler: InformerHandler<T>, { resyncMs }: HandlerOptions): HandlerRegistration {
    if (resyncMs !== undefined && !(resyncMs > 0)) throw new RangeError(`resyncMs must be above 0, is ${resyncMs}`);
    const { report } = this.#parts;
    const buffer = new HandlerBuffer<T>(handler, { report, onRemove: () => this.#remove(member) });
    const member: Member<T> = { buffer, resyncMs, isTold: false, timer: undefined };
    this.#members.add(member);
    if (this.#isOpen) this.#begin(member, () => this.#parts.present('initial'));
    return buffer;
  }

  /**
   * Gives all objects to the handlers that have not received them yet, and starts the resyncs. The informer calls this
   * when the cache has all existing objects.
   */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    // All handlers share one list of the existing objects.
    let present: Iterable<ObjectEvent<T>> | undefined;
    const initial = (): Iterable<ObjectEvent<T>> => (present ??= this.#parts.present('initial'));
    for (const member of this.#members) this.#begin(member, initial);
  }

  /** Adds a change to the buffer of each handler. Skips buffers that have not received the existing objects yet. */
  push(event: ObjectEvent<T>): void {
    for (const { buffer, isTold } of this.#members) if (isTold) buffer.push(event);
  }

  /** Stops resyncs until the group is opened again. */
  close(): void {
    this.#isOpen = false;
    for (const member of this.#members) this.#endResync(member);
  }

  /**
   * Waits until no handler has a waiting event or a running call, or until the limit has passed. Returns the number of
   * handlers that have not settled.
   */
  async drained(limitMs: number): Promise<number> {
    const busy = [...this.#members].filter(({ buffer }) => !buffer.isIdle());
    if (busy.length === 0) return 0;
    await endsWithin(this.#parts.clock, limitMs, Promise.all(busy.map(({ buffer }) => buffer.drained())));
    return busy.filter(({ buffer }) => !buffer.isIdle()).length;
  }

  #begin(member: Member<T>, initial: () => Iterable<ObjectEvent<T>>): void {
    if (!member.isTold) {
      member.isTold = true;
      member.buffer.pushAll(withSynced(initial()));
    }
    this.#awaitResync(member);
  }

  #awaitResync(member: Member<T>): void {
    const { resyncMs } = member;
    if (resyncMs !== undefined) member.timer = this.#parts.clock.setTimeout(() => this.#resync(member), resyncMs);
  }

  #resync(member: Member<T>): void {
    member.buffer.pushAll(this.#parts.present('resync'));
    this.#awaitResync(member);
  }

  #endResync(member: Member<T>): void {
    this.#parts.clock.clearTimeout(member.timer);
    member.timer = undefined;
  }

  #remove(member: Member<T>): void {
    this.#members.delete(member);
    this.#endResync(member);
  }
}

function* withSynced<T extends ApiObject>(events: Iterable<ObjectEvent<T>>): Iterable<HandlerEvent<T>> {
  yield* events;
  yield { kind: 'synced' };
}
