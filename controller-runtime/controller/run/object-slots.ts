import { isNotFound, type ApiObject, type Clock, type Logger, type ModelDescriptor } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { CronSchedule } from '../definition/cron-schedule.ts';
import type { Timing } from '../definition/timing.ts';
import { droppedSlots, dueSlot, type SlotQuestion } from './due-slot.ts';
import { readSlotRecord, slotAnnotations, type SlotRecord } from './slot-record.ts';

export interface ObjectSlotsParts {
  readonly model: ModelDescriptor;
  /** The controller, as `<group>/<name>`; only `<name>` for a kind of the core group. */
  readonly manager: string;
  readonly timing: Timing;
  readonly clock: Clock;
}

/** A run for which {@link ObjectSlots} stores in the object that a slot has begun or ended. */
export interface SlotRun {
  readonly key: string;
  readonly reconcileID: string;
  readonly client: Client;
  readonly logger: Logger;
}

/** The state of an object's slots in the memory of this process. */
interface KnownSlots {
  readonly uid: string;
  everyMs: number | undefined;
  schedule: CronSchedule | undefined;
  record: SlotRecord | undefined;
  /** The slot for which the key is delayed in the queue. */
  awaited: number | undefined;
  /** The slot whose run this process has begun; the object's annotations record the beginning. */
  begun: number | undefined;
  /** The slot whose run has ended, as long as the object's annotations do not record that it has ended. */
  unstored: number | undefined;
}

/**
 * Manages the slots of a controller's objects. The beginning of a slot's run is stored in the object, with the revision
 * as a precondition: a new leader whose cache is out of date then gets a Conflict, and does not repeat a run that has
 * ended. The end of the run is stored with only the uid as a precondition. That is safe, because only the leader writes
 * these annotations: writes of former leaders are refused.
 */
export class ObjectSlots {
  readonly #parts: ObjectSlotsParts;
  readonly #known = new Map<string, KnownSlots>();

  constructor(parts: ObjectSlotsParts) {
    this.#parts = parts;
  }

  /**
   * Begins the slot of an object's schedule that is due now, if there is one: stores in the object's annotations that
   * the slot has begun. Returns the object as it is stored then, and the slot. Rejects with the client's error when the
   * annotations cannot be stored.
   */
  async begin(run: SlotRun, object: ApiObject): Promise<{ readonly object: ApiObject; readonly slot?: number }> {
    const known = this.#knownOf(run.key, object);
    known.everyMs = this.#logged(run, () => this.#parts.timing.everyMs(object));
    const stored = readSlotRecord(object, this.#parts.manager);
    known.record = stored;
    try {
      known.schedule = this.#parts.timing.scheduleOf(object);
    } catch (err) {
      known.schedule = undefined;
      run.logger.error({ err }, 'the schedule of an object is invalid, so the object has no scheduled runs');
      return { object };
    }
    const { schedule } = known;
    if (schedule !== undefined) return this.#beginSlot(run, object, { ...known, schedule });
    known.unstored = undefined;
    return { object: stored === undefined ? object : await this.#store(run, object, undefined) };
  }

  /**
   * Stores in the object's annotations that the scheduled run for a slot has ended. After the call, this process starts
   * no further run for the slot, even if the call rejects.
   */
  async end(run: SlotRun, object: ApiObject, slot: number): Promise<void> {
    const known = this.#knownOf(run.key, object);
    known.unstored = slot;
    known.record = ended(known.record, slot);
    const { name, namespace, uid } = object.metadata;
    const patch = { metadata: { annotations: slotAnnotations(known.record, this.#parts.manager) } };
    const scope = namespace === undefined ? {} : { namespace };
    try {
      await run.client.patch(this.#parts.model, name, { type: 'merge', patch }, { preconditions: { uid }, ...scope });
    } catch (error) {
      // If the object was deleted, the end of the slot's run need not be stored. After any other error, the next run of
      // this object stores it.
      if (!isNotFound(error)) throw error;
    }
    known.unstored = undefined;
    known.begun = undefined;
  }

  /**
   * Returns the delays after which an object is reconciled again: its interval, which starts at the end of a successful
   * run, and the time until its next slot.
   */
  delays(key: string): { readonly everyMs: number | undefined; readonly slotMs: number | undefined } {
    const known = this.#known.get(key);
    return { everyMs: known?.everyMs, slotMs: known === undefined ? undefined : this.#slotDelay(known) };
  }

  /** Drops the schedule and the slots of an object. Called when the object is deleted, or its deletion has begun. */
  forget(key: string): void {
    this.#known.delete(key);
  }

  #slotDelay(known: KnownSlots): number | undefined {
    const { schedule, record, awaited } = known;
    if (schedule === undefined || record === undefined) return undefined;
    const nowMs = this.#parts.clock.now();
    const isDue =
      record.begun === undefined && dueSlot({ schedule, ended: record.ended, nowMs, awaited }) !== undefined;
    if (isDue) return 0;
    known.awaited = schedule.nextAfter(Math.max(nowMs, record.ended));
    return known.awaited === undefined ? undefined : known.awaited - nowMs;
  }

  async #beginSlot(
    run: SlotRun,
    object: ApiObject,
    { schedule, unstored, awaited, begun, record: stored }: KnownSlots & { readonly schedule: CronSchedule },
  ): Promise<{ readonly object: ApiObject; readonly slot?: number }> {
    const nowMs = this.#parts.clock.now();
    let record = unstored === undefined ? stored : ended(stored, unstored);
    // The present time is rounded down to whole seconds, because the stored annotations have whole seconds, too.
    if (record?.schedule !== schedule.text) {
      record = { schedule: schedule.text, ended: Math.floor(nowMs / 1000) * 1000, begun: record?.begun };
    }
    const question = { schedule, ended: record.ended, nowMs, awaited };
    const slot = record.begun?.slot ?? dueSlot(question);
    if (slot !== undefined && begun !== slot) {
      if (record.begun === undefined) this.#warnOfDropped(run, question, slot);
      record = { ...record, begun: { slot, reconcileID: run.reconcileID } };
    }
    const present = record === stored ? object : await this.#store(run, object, record);
    const known = this.#knownOf(run.key, object);
    Object.assign(known, { record, begun: slot, unstored: undefined });
    return slot === undefined ? { object: present } : { object: present, slot };
  }

  /** Warns of dropped slots, but only with the policy `all`, which means that the author wants every slot to run. */
  #warnOfDropped({ logger }: SlotRun, question: SlotQuestion, slot: number): void {
    if (question.schedule.missed !== 'all') return;
    const { count, isMore } = droppedSlots(question, slot);
    if (count === 0) return;
    logger.warn(
      { dropped: count },
      `${isMore ? 'more than ' : ''}${count} missed slots are dropped: only the newest 100 missed slots run`,
    );
  }

  #store({ client }: SlotRun, object: ApiObject, record: SlotRecord | undefined): Promise<ApiObject> {
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const patch = { metadata: { annotations: slotAnnotations(record, this.#parts.manager) } };
    const scope = namespace === undefined ? {} : { namespace };
    const options = { preconditions: { uid, resourceVersion }, ...scope };
    return client.patch(this.#parts.model, name, { type: 'merge', patch }, options);
  }

  #logged<R>({ logger }: SlotRun, read: () => R): R | undefined {
    try {
      return read();
    } catch (err) {
      logger.error({ err }, 'the interval of an object is invalid: the object is not reconciled at intervals');
      return undefined;
    }
  }

  #knownOf(key: string, { metadata: { uid } }: ApiObject): KnownSlots {
    let known = this.#known.get(key);
    if (known?.uid === uid) return known;
    const nothing = { everyMs: undefined, schedule: undefined, record: undefined };
    known = { uid, ...nothing, awaited: undefined, begun: undefined, unstored: undefined };
    this.#known.set(key, known);
    return known;
  }
}

function ended(record: SlotRecord | undefined, slot: number): SlotRecord | undefined {
  return record === undefined
    ? undefined
    : { schedule: record.schedule, ended: Math.max(record.ended, slot), begun: undefined };
}
