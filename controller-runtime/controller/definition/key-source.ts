import type { Clock, Logger, ObjectKey } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { sleep } from '../../clock/sleep.ts';
import { durationOption, type Duration } from './parse-duration.ts';

/** The context of a source of keys. */
export interface SourceContext {
  readonly client: Client;
  /** Aborts when the controller stops. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** A logger that adds the controller and the source to each line. */
  readonly logger: Logger;
}

/** A source outside of the API that names the objects to reconcile, made by {@link source} or {@link poll}. */
export interface KeySource {
  readonly name: string;
  readonly keys: (context: SourceContext) => AsyncIterable<string | ObjectKey>;
}

/**
 * Makes a source that enqueues each key that the iteration yields: a name, `namespace/name`, or a key object. The
 * iteration begins when the controller starts, and should end when the signal aborts. If the iteration returns, the
 * source has ended. If it throws, the error is logged, and the source starts again after 800 ms, doubled by each
 * failure up to 30 s. When the source has not failed for two minutes, the next delay is 800 ms again. An invalid key is
 * logged and skipped.
 *
 * With `on` of node:events, an EventEmitter becomes a source: `source('orders', async function* ({ signal }) { for
 * await (const [id] of on(emitter, 'order', { signal })) yield id; })`.
 */
export function source(name: string, keys: KeySource['keys']): KeySource {
  return Object.freeze({ name, keys });
}

/**
 * Makes a source from a function that returns keys. The function is called when the controller starts, and again each
 * time the interval has passed since its last result. Throws RangeError when the interval is not a duration above 0.
 */
export function poll(
  name: string,
  interval: Duration,
  ask: (context: SourceContext) => Iterable<string | ObjectKey> | Promise<Iterable<string | ObjectKey>>,
): KeySource {
  const intervalMs = durationOption(`source "${name}": interval`, interval);
  if (intervalMs === 0) throw new RangeError(`source "${name}": the interval must be above 0`);
  return source(name, async function* again(context) {
    while (!context.signal.aborted) {
      yield* await ask(context);
      await sleep(context.clock, intervalMs, context.signal);
    }
  });
}
