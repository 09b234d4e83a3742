import type { ApiObject, Clock, Logger } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import type { Informer } from '../client/informer.ts';
import type { ControllerDefinition } from '../controller/definition/controller-definition.ts';
import { followCache, informersOf, waitFor } from '../controller/sources/follow-caches.ts';
import { startPart, stopPart, stopParts, type Part } from './part.ts';

export interface StandbyParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Followed {
  readonly informers: ReadonlyMap<string, Informer<ApiObject>>;
  readonly part: Part;
}

/**
 * Runs the caches of the controllers before the election, so that a process that becomes the leader starts with synced
 * caches.
 */
export class StandbyCaches {
  readonly #parts: StandbyParts;
  readonly #followed = new Map<string, Followed>();

  constructor(parts: StandbyParts) {
    this.#parts = parts;
  }

  follow(definition: ControllerDefinition): void {
    const informers = informersOf(definition, this.#parts.client);
    const part = startPart(async (signal) => {
      const parts = { ...this.#parts, signal };
      await Promise.all([...informers].map(([cacheId, informer]) => followCache(informer, cacheId, parts)));
    });
    this.#followed.set(definition.name, { informers, part });
  }

  async unfollow(name: string): Promise<void> {
    const followed = this.#followed.get(name);
    this.#followed.delete(name);
    if (followed !== undefined) await stopPart(followed.part);
  }

  /** The ids of the caches that are not synced. */
  unsynced(): readonly string[] {
    const informers = [...this.#followed.values()].flatMap((followed) => [...followed.informers]);
    const kinds = informers.filter(([, informer]) => !informer.hasSynced()).map(([cacheId]) => cacheId);
    return [...new Set(kinds)];
  }

  /**
   * Waits until all caches are synced, or until the time limit, and logs when the limit is reached. The limit is needed
   * because controllers whose kinds are served must not wait for kinds that the server does not serve.
   */
  async synced(limitMs: number, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#parts;
    const isSynced = await waitFor(() => this.unsynced().length === 0, limitMs, { clock, signal });
    if (!isSynced && !signal.aborted)
      logger.error(
        { kinds: this.unsynced(), waitedMs: limitMs },
        'caches are not synced; the manager continues without them',
      );
  }

  async stop(): Promise<void> {
    await stopParts([...this.#followed.values()].map(({ part }) => part));
  }
}
