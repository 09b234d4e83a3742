import type { ObjectKey } from '../../api/index.ts';
import { aborted } from '../../client/abort.ts';
import { ReconnectDelay } from '../../client/http/reconnect-delay.ts';
import { endsWithin, sleep } from '../../clock/sleep.ts';
import { childLogger } from './child-logger.ts';
import type { KeySource, SourceContext } from '../definition/key-source.ts';

export interface SourceParts {
  /** The context for the source, except that {@link runSource} adds the name of the source to the logger. */
  readonly context: SourceContext;
  /** Enqueues a key; throws for a value that is not a key. */
  readonly enqueue: (key: string | ObjectKey) => void;
  /** The maximum time for which a stop waits for a source that ignores its signal. */
  readonly graceMs: number;
}

/**
 * The number of keys after which the source pauses until the next turn of the event loop, because it may yield keys
 * without any wait between them.
 */
const keysPerTurn = 1_000;

/**
 * Enqueues the keys of a source until the signal aborts, or the source ends. A source that throws is run again after a
 * delay. Never rejects.
 */
export async function runSource(source: KeySource, { context, enqueue, graceMs }: SourceParts): Promise<void> {
  const { clock, signal } = context;
  const logger = childLogger(context.logger, { source: source.name });
  const running = takeAgainAndAgain(source, { ...context, logger }, enqueue);
  await Promise.race([running, aborted(signal)]);
  if (await endsWithin(clock, graceMs, running)) return;
  logger.warn({ graceMs }, 'the source did not end within the grace period; it is abandoned');
}

async function takeAgainAndAgain(
  source: KeySource,
  context: SourceContext,
  enqueue: SourceParts['enqueue'],
): Promise<void> {
  const { signal, clock, logger } = context;
  const delay = new ReconnectDelay({ clock });
  while (!signal.aborted) {
    try {
      await takeKeys(source, context, enqueue);
      return;
    } catch (error) {
      // After an abort, the iteration may throw the reason of its signal; that is not a failure.
      if (signal.aborted) return;
      logger.error({ err: error }, 'the source failed; it is run again');
    }
    await sleep(clock, delay.next(), signal);
  }
}

async function takeKeys(source: KeySource, context: SourceContext, enqueue: SourceParts['enqueue']): Promise<void> {
  const { signal, logger } = context;
  let keys = 0;
  for await (const key of source.keys(context)) {
    if (signal.aborted) return;
    try {
      enqueue(key);
    } catch (error) {
      logger.error({ err: error }, 'the source returned an invalid key; the key is skipped');
    }
    keys += 1;
    if (keys % keysPerTurn === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
