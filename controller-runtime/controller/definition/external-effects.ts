import type { Duration } from './parse-duration.ts';

/** The argument of the function that causes an external effect. */
export interface EffectContext {
  /** The idempotency key: a random UUID, which stays the same in all attempts until the effect is recorded as done. */
  readonly key: string;
  /** The signal of the run: it aborts when the controller stops, and when the run exceeds its timeout. */
  readonly signal: AbortSignal;
}

export interface FindEffect<R> {
  /**
   * Looks in the other system for the effect of an earlier attempt with the same idempotency key; returns undefined or
   * null when there is none. It is called when the effect began but its result was not recorded, because the process
   * crashed or a response was lost.
   */
  find(this: void, context: EffectContext): R | undefined | null | Promise<R | undefined | null>;
}

export interface OnceOptions<R> extends FindEffect<R> {
  /**
   * The time after which the record is deleted; after that, the effect may happen again, with a new idempotency key.
   * The time starts when the result is recorded, and is rounded up to seconds. Default: the record is kept while the
   * object exists.
   */
  readonly expireAfter?: Duration;
}

/** The external effects of one object, each of which happens only once. */
export interface Once {
  /**
   * Returns the result of an effect, and causes the effect if it has not happened yet. A record is written before the
   * effect, and gets the result afterwards, as JSON of at most 64 KiB. `name` has 1 to 63 characters, and each name may
   * be used once in a run. If the result is recorded already, the effect is not caused again. Recorded results are also
   * kept in memory, so most calls send no request for them. If the effect throws, or the process crashes during it, the
   * effect stays pending: the next run first calls `find`. If `find` returns no result, the run calls the function
   * `effect` again, with the same idempotency key as before. Rejects with TypeError or RangeError for a wrong argument,
   * and with TypeError for a result that cannot be recorded.
   */
  <R>(name: string, effect: (context: EffectContext) => R | Promise<R>, options: OnceOptions<R>): Promise<R>;
  /**
   * Returns the recorded result of an effect; for a pending effect, the result of `find`; otherwise undefined. It never
   * causes the effect, so use it in `cleanup`.
   */
  last<R>(this: void, name: string, options: FindEffect<R>): Promise<R | undefined>;
}
