import type { Duration } from './parse-duration.ts';

/** The argument of the function that causes an external effect. */
export interface EffectContext {
  /** The idempotency key: a random UUID, the same each time until the effect is recorded as done. */
  readonly key: string;
  /** The signal of the run. */
  readonly signal: AbortSignal;
}

export interface FindEffect<R> {
  /**
   * Looks for the effect of an earlier run with this key; returns undefined or null when there is none. Called when
   * the effect began and its result was not recorded, because the process crashed, or a response was lost.
   */
  find(this: void, context: EffectContext): R | undefined | null | Promise<R | undefined | null>;
}

export interface OnceOptions<R> extends FindEffect<R> {
  /**
   * After this time the record is deleted, and the effect may happen again, with another key. Counts from the result; rounded up to
   * seconds. Default: never while the object exists.
   */
  readonly expireAfter?: Duration;
}

/** External effects that happen once for an object. */
export interface Once {
  /**
   * Returns the result of an effect, and makes it happen if it has not. Its intention is recorded before, its result after: JSON of at
   * most 64 KiB. `name` has 1 to 63 characters, and each name may be used once in a run. An effect that has happened
   * costs no request. One that throws stays pending: the next run calls `find` first, then the effect with the same
   * key. Rejects with TypeError for wrong arguments, and for a result that cannot be recorded.
   */
  <R>(name: string, effect: (context: EffectContext) => R | Promise<R>, options: OnceOptions<R>): Promise<R>;
  /**
   * Returns the recorded result of an effect; for a pending effect, the result of `find`; otherwise undefined. It never
   * causes the effect. For `cleanup`.
   */
  last<R>(this: void, name: string, options: FindEffect<R>): Promise<R | undefined>;
}
