import {
  controllerModel,
  deepEqual,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type Clock,
  type ControllerObject,
  type ControllerReport,
  type Logger,
  type Timer,
} from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { endsWithin } from '../../clock/sleep.ts';

export interface StateWriterParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The name of the object of the kind Controller. */
  readonly objectName: string;
  readonly spec: ControllerObject['spec'];
  readonly leader: ControllerReport['leader'];
  /** Returns false when another process may already be the leader. The writer then does not write the state. */
  readonly mayWrite: () => boolean;
  readonly report: () => Omit<ControllerReport, 'reportTime' | 'running'>;
}

/**
 * The minimum time between two reports. When the last report is older than that, a change is reported after `firstMs`.
 */
const intervalMs = 2000;
const firstMs = 200;

/** The time without a change after which the state is reported once more, with rates of 0. */
const quietMs = 65_000;

/** The wait after a write that failed. */
const retryMs = 10_000;

/** The maximum time for which a stop waits for the last report. */
const closeMs = 5000;

/**
 * Writes the state of a controller into the object of the kind Controller that describes this controller: at most once
 * in two seconds, and only when the state has changed.
 */
export class StateWriter {
  readonly #parts: StateWriterParts;
  #object: ControllerObject | undefined;
  #written: object | undefined;
  #lastMs = -Infinity;
  #timer: Timer | undefined;
  /** True when the current timer is for the last report after a period of activity: a report with rates of 0. */
  #isQuiet = false;
  #writing: Promise<void> | undefined;
  #isTouched = false;
  #isClosed = false;
  #isLogged = false;

  constructor(parts: StateWriterParts) {
    this.#parts = parts;
  }

  touch(): void {
    if (this.#isTouched || this.#isClosed) return;
    this.#isTouched = true;
    if (this.#writing === undefined) this.#arm();
  }

  async close(): Promise<void> {
    const { clock } = this.#parts;
    this.#isClosed = true;
    clock.clearTimeout(this.#timer);
    await endsWithin(clock, closeMs, this.#writeLast());
  }

  async #writeLast(): Promise<void> {
    await this.#writing;
    if (this.#object !== undefined) await this.#write();
  }

  #arm(): void {
    const { clock } = this.#parts;
    const dueMs = Math.max(firstMs, this.#lastMs + intervalMs - clock.monotonicMs());
    this.#set(dueMs, false);
  }

  #set(delayMs: number, isQuiet: boolean): void {
    const { clock } = this.#parts;
    if (this.#timer !== undefined && !this.#isQuiet) return;
    clock.clearTimeout(this.#timer);
    this.#isQuiet = isQuiet;
    this.#timer = clock.setTimeout(() => this.#onTimer(), delayMs);
    this.#timer.unref?.();
  }

  #onTimer(): void {
    this.#timer = undefined;
    this.#isQuiet = false;
    this.#isTouched = false;
    this.#writing = this.#writeAndWait();
  }

  /** Writes the state, and sets the timer of the next report if another report is needed. */
  async #writeAndWait(): Promise<void> {
    const isWritten = await this.#write();
    this.#writing = undefined;
    if (this.#isClosed) return;
    if (!isWritten) this.#set(retryMs, false);
    else if (this.#isTouched) this.#arm();
    else if (this.#wasActive()) this.#set(quietMs, true);
  }

  #wasActive(): boolean {
    const rates: unknown = this.#written === undefined ? undefined : Reflect.get(this.#written, 'rates');
    return !deepEqual(rates, { runs: 0, errors: 0 });
  }

  /**
   * Writes the controller's state into its object of the kind Controller, if the state has changed. Returns false when
   * the write failed.
   */
  async #write(): Promise<boolean> {
    const { clock, leader, logger, mayWrite, report } = this.#parts;
    if (!mayWrite()) return true;
    this.#lastMs = clock.monotonicMs();
    const present = { ...report(), running: !this.#isClosed };
    if (deepEqual(present, this.#written)) return true;
    try {
      const status = {
        reportTime: new Date(clock.now()).toISOString(),
        ...(leader === undefined ? {} : { leader }),
        ...present,
      };
      await this.#send(status);
      this.#written = present;
      this.#isLogged = false;
      return true;
    } catch (err) {
      if (!this.#isLogged) logger.warn({ err }, 'the state of a controller could not be reported; trying again');
      this.#isLogged = true;
      return false;
    }
  }

  async #send(status: ControllerReport): Promise<void> {
    const { client } = this.#parts;
    for (let tries = 1; ; tries += 1) {
      this.#object ??= await this.#prepare();
      try {
        this.#object = await client.updateStatus(this.#object, status);
        return;
      } catch (error) {
        // When the object was deleted, or another process has written it, the object is read or created again, and the
        // write is repeated once.
        if ((!isConflict(error) && !isNotFound(error)) || tries > 1) throw error;
        this.#object = undefined;
      }
    }
  }

  /** Returns the object with the current spec. Creates or updates the object if necessary. */
  async #prepare(): Promise<ControllerObject> {
    const { client, objectName, spec } = this.#parts;
    try {
      return await client.create(controllerModel, { metadata: { name: objectName }, spec });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const present = await client.get(controllerModel, objectName);
    return deepEqual(present.spec, spec) ? present : client.update({ ...present, spec });
  }
}
