import type { ApiObject, Clock, Logger } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { Informer } from '../../client/informer.ts';
import { ReconnectDelay } from '../../client/http/reconnect-delay.ts';
import { sleep } from '../../clock/sleep.ts';
import type { ControllerDefinition } from '../definition/controller-definition.ts';
import { followIdOf, hasWholeObjects, type FollowedKind } from '../definition/followed-kind.ts';
import { cacheIdOf } from '../definition/kind-id.ts';

export interface FollowParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** The followed kinds of a controller: its own, those that it owns, and those that it watches. */
export function followedKinds({ model, indexes, owns, watches }: ControllerDefinition): readonly FollowedKind[] {
  const own: FollowedKind = { model, follows: {}, predicates: [], ignoreOwnWrites: false, indexes };
  return [own, ...owns, ...watches];
}

/**
 * Returns the informers of a controller, by {@link followIdOf}: one for each selection of each kind, in each version,
 * that the controller follows.
 */
export function informersOf(
  definition: ControllerDefinition,
  client: Client,
): ReadonlyMap<string, Informer<ApiObject>> {
  const informers = new Map<string, Informer<ApiObject>>();
  for (const followed of followedKinds(definition)) {
    const id = followIdOf(followed);
    if (!informers.has(id)) informers.set(id, informerOf(followed, client));
  }
  return informers;
}

export function informerOf({ model, follows }: FollowedKind, client: Client): Informer<ApiObject> {
  return client.informer(model, follows);
}

/**
 * Returns the informers from whose caches runs read, by cache id: for each kind, the informer that keeps all objects
 * with all fields, or else the first informer that keeps all fields of some objects. A kind without either is left out.
 */
export function readableInformers(
  definition: ControllerDefinition,
  informers: ReadonlyMap<string, Informer<ApiObject>>,
): ReadonlyMap<string, Informer<ApiObject>> {
  const readable = new Map<string, Informer<ApiObject>>();
  for (const followed of followedKinds(definition)) {
    const cacheId = cacheIdOf(followed.model);
    const informer = informers.get(cacheId) ?? informers.get(followIdOf(followed));
    if (informer === undefined || readable.has(cacheId)) continue;
    if (informers.has(cacheId) || hasWholeObjects(followed.follows)) readable.set(cacheId, informer);
  }
  return readable;
}

/**
 * Runs an informer until the signal aborts. When the informer ends earlier, this is logged, and the informer is run
 * again after a back-off. Never rejects.
 */
export async function followCache(informer: Informer<ApiObject>, cacheId: string, parts: FollowParts): Promise<void> {
  const { clock, logger, signal } = parts;
  const delay = new ReconnectDelay({ clock });
  while (!signal.aborted) {
    try {
      await informer.run(signal);
      if (!signal.aborted) logger.warn({ kind: cacheId }, 'the informer ended by itself; it is run again');
    } catch (error) {
      if (!signal.aborted) logger.error({ kind: cacheId, err: error }, 'the informer failed; it is run again');
    }
    await sleep(clock, delay.next(), signal);
  }
}

/**
 * After each of the first 100 checks of the condition, {@link waitFor} waits only for the next turn of the event loop.
 * After later checks, it sleeps for `pollMs`. A list from a server in the same process arrives within a few turns, so
 * it is noticed without a sleep.
 */
const turnsBeforePolling = 100;
const pollMs = 10;

/**
 * Polls a condition for which there is no event. Returns true when the condition is true; returns false after the
 * limit, or when the signal aborts.
 */
export async function waitFor(
  condition: () => boolean,
  limitMs: number,
  { clock, signal }: Pick<FollowParts, 'clock' | 'signal'>,
): Promise<boolean> {
  const untilMs = clock.monotonicMs() + limitMs;
  for (let looks = 0; !signal.aborted && clock.monotonicMs() < untilMs; looks += 1) {
    if (condition()) return true;
    if (looks < turnsBeforePolling) await new Promise<void>((resolve) => setImmediate(resolve));
    else await sleep(clock, pollMs, signal);
  }
  return condition() && !signal.aborted;
}
