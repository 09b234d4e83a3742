import { isNotFound, type ApiObject, type Clock, type Logger } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import { isTransient } from '../client/retryable-errors.ts';
import { formatTime } from '../clock/format-time.ts';
import { sleep } from '../clock/sleep.ts';
import { EventCorrelator, type CorrelatedEvent, type Occurrence } from './event-correlator.ts';
import { eventModel } from './event-model.ts';

/** The type of an event: `Warning` when it may need a person's attention. */
export type EventType = 'Normal' | 'Warning';

/** Records events about objects, so that people can read them with `kubectl describe` and `kubectl events`. */
export interface EventRecorder {
  /**
   * Records an event about an object. `reason` is a word in UpperCamelCase, and `message` a sentence of at most 1,024
   * characters (more is cut off). The event is written later; an identical event only increases a count. The call
   * returns at once and never throws. A warning is logged when an event could not be written.
   */
  event(object: ApiObject, type: EventType, reason: string, message: string): void;
}

export interface EventWriterParts {
  readonly client: Client;
  /** The name of the reporting controller. */
  readonly component: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly uuid: () => string;
}

/** The maximum number of events that wait to be written, the same as in client-go. Further events are dropped. */
const maxWaiting = 1000;
const maxMessageLength = 1024;
const maxReasonLength = 128;
/** The number of attempts to write an event, and the time between two of them, as in client-go. */
const maxTries = 12;
const retryMs = 10_000;
/** The maximum time for which a stop waits for events that are not written yet. */
const closeMs = 5000;

const reconcileIdAnnotation = 'controller-runtime/reconcile-id';

/** Writes a controller's events, one after another, without delaying the controller's runs. */
export class EventWriter implements EventRecorder {
  readonly #parts: EventWriterParts;
  readonly #correlator: EventCorrelator;
  readonly #waiting: CorrelatedEvent[] = [];
  readonly #abort = new AbortController();
  #writing: Promise<void> | undefined;
  /** True between two attempts to write an event, when no request is under way. */
  #isPausing = false;
  #isClosed = false;
  #dropped = 0;

  constructor(parts: EventWriterParts) {
    this.#parts = parts;
    this.#correlator = new EventCorrelator(parts);
  }

  event(object: ApiObject, type: EventType, reason: string, message: string): void {
    this.#record(object, { type, reason, message });
  }

  /** Returns a recorder whose events have the id of a run. */
  ofRun(reconcileID: string): EventRecorder {
    return {
      event: (object, type, reason, message) => this.#record(object, { type, reason, message, reconcileID }),
    };
  }

  /** True while no request to write an event is under way: no event is left, or the recorder pauses before a retry. */
  isIdle(): boolean {
    return this.#writing === undefined || this.#isPausing;
  }

  /**
   * Accepts no new events. Writes the events that wait, for at most five seconds, but none if the last attempt to write
   * has failed. Settles when no request is under way.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#isPausing) this.#abort.abort();
    const written = new AbortController();
    const late = sleep(this.#parts.clock, closeMs, written.signal).then(() => this.#abort.abort());
    await this.#writing;
    written.abort();
    await late;
  }

  #record(object: ApiObject, happened: Omit<Occurrence, 'object'>): void {
    if (this.#isClosed) return;
    try {
      const event = this.#correlator.correlate(checked(object, happened));
      if (event === undefined) return;
      if (this.#waiting.length >= maxWaiting) this.#drop();
      else this.#waiting.push(event);
    } catch (err) {
      this.#parts.logger.warn({ err }, 'an event could not be recorded');
      return;
    }
    this.#writing ??= this.#writeAll();
  }

  #drop(): void {
    this.#dropped += 1;
    if (this.#dropped === 1)
      this.#parts.logger.warn({ waiting: maxWaiting }, 'too many events wait; the newest are dropped');
  }

  async #writeAll(): Promise<void> {
    const { signal } = this.#abort;
    for (let event = this.#waiting.shift(); event !== undefined && !signal.aborted; event = this.#waiting.shift()) {
      await this.#write(event);
    }
    this.#dropped = 0;
    // The field is cleared in the turn of the event loop in which the list was found empty, so that the next event
    // starts a new loop.
    this.#writing = undefined;
  }

  async #write(event: CorrelatedEvent): Promise<void> {
    const { clock, logger } = this.#parts;
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#send(event);
      } catch (err) {
        const { signal } = this.#abort;
        if (!isTransient(err) || tries >= maxTries || this.#isClosed || signal.aborted) {
          const { object, reason, message } = event;
          return logger.warn({ object: object.name, reason, message, err }, 'an event could not be written');
        }
        this.#isPausing = true;
        await sleep(clock, retryMs, signal);
        this.#isPausing = false;
      }
    }
  }

  /** Patches the count of a repeated event. Creates an event that is new, was deleted or was never written. */
  async #send(event: CorrelatedEvent): Promise<void> {
    const { client, component } = this.#parts;
    const { name, count, message, object } = event;
    const options = { namespace: object.namespace ?? 'default', signal: this.#abort.signal };
    const annotations =
      event.reconcileID === undefined ? {} : { annotations: { [reconcileIdAnnotation]: event.reconcileID } };
    const lastTimestamp = formatTime(event.lastTime);
    if (count > 1) {
      try {
        const patch = { metadata: annotations, count, message, lastTimestamp };
        await client.patch(eventModel, name, { type: 'merge', patch }, options);
        return;
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
    const { type, reason } = event;
    const firstTimestamp = formatTime(event.firstTime);
    const happened = { involvedObject: object, type, reason, message, count, firstTimestamp, lastTimestamp };
    const reporter = { source: { component }, reportingComponent: component };
    await client.create(eventModel, { metadata: { name, ...annotations }, ...happened, ...reporter }, options);
  }
}

/**
 * Returns the occurrence, with its reason and message shortened to their maximum lengths. Throws TypeError for an
 * invalid type or reason.
 */
function checked(object: ApiObject, happened: Omit<Occurrence, 'object'>): Occurrence {
  const { type, reason, reconcileID } = happened;
  const message: unknown = happened.message;
  if (type !== 'Normal' && type !== 'Warning')
    throw new TypeError(`type: must be Normal or Warning, is ${String(type)}`);
  if (typeof reason !== 'string' || reason === '') throw new TypeError('reason: must be a text that is not empty');
  const { apiVersion, kind } = object;
  const { name, namespace, uid, resourceVersion } = object.metadata;
  const inNamespace = namespace === undefined ? {} : { namespace };
  return {
    object: { apiVersion, kind, name, uid, resourceVersion, ...inNamespace },
    type,
    reason: cut(reason, maxReasonLength),
    message: cut(String(message), maxMessageLength),
    ...(reconcileID === undefined ? {} : { reconcileID }),
  };
}

/** Shortens a text to the maximum length. Half of a surrogate pair cannot be written, so it is replaced. */
function cut(text: string, maxLength: number): string {
  return text.slice(0, maxLength).toWellFormed();
}
