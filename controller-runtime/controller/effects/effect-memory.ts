import { externalEffectModel, isConflict, isFormerLeader, isNotFound, LruCache } from '../../api/index.ts';
import type { Clock, ExternalEffect, Logger, Timer } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { ControllerDefinition } from '../definition/controller-definition.ts';

export interface EffectMemoryParts {
  readonly client: Pick<Client, 'delete'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a new idempotency key. */
  readonly uuid: () => string;
  readonly definition: Pick<ControllerDefinition, 'name' | 'finalizer'>;
}

/** An effect whose result is recorded. */
export interface DoneEffect {
  readonly record: Pick<ExternalEffect['metadata'], 'name' | 'namespace' | 'uid'>;
  /** The result as JSON; undefined when the effect returned undefined. */
  readonly result: string | undefined;
  /** The time at which the record expires, in milliseconds of the clock; Infinity when it does not expire. */
  readonly expiresAtMs: number;
}

const maxEffects = 10_000;
/**
 * The maximum number of characters of all results in memory. Each effect counts as 200 characters in addition to its
 * result.
 */
const maxCharacters = 16 * 1024 * 1024;
const charactersOfEffect = 200;
/**
 * The minimum interval between two deletions of expired records. Each deletion includes all records that have expired
 * since the previous deletion.
 */
const sweepEveryMs = 1000;
const sweepAgainMs = 60_000;
/** The longest wait of one timer. The timers of Node.js allow at most 24.8 days. */
const longestWaitMs = 86_400_000;
const deletedAtOnce = 50;

/**
 * Keeps the finished effects of one shard in memory, up to a limit, and deletes their records when these expire. An
 * expired record of an effect that is no longer in memory is deleted when a run requests this effect, or when its owner
 * is deleted.
 */
export class EffectMemory {
  readonly parts: EffectMemoryParts;
  readonly #done = new LruCache<string, DoneEffect>({
    maxEntries: maxEffects,
    maxSize: maxCharacters,
    sizeOf: ({ result = '' }) => result.length + charactersOfEffect,
  });
  #timer: Timer | undefined;
  #wakeAtMs = Infinity;
  #sweep: Promise<void> | undefined;
  #isStopped = false;

  constructor(parts: EffectMemoryParts) {
    this.parts = parts;
  }

  /** Returns an effect from memory if it is finished and has not expired. */
  get(id: string): DoneEffect | undefined {
    const done = this.#done.get(id);
    return done === undefined || this.isExpired(done) ? undefined : done;
  }

  /** Reads a finished effect from its record, keeps the effect in memory, and returns it. */
  remember(id: string, { metadata, status = {} }: ExternalEffect): DoneEffect {
    const { name, namespace, uid } = metadata;
    const { result, expirationTime } = status;
    const expiresAtMs = expirationTime === undefined ? Infinity : Date.parse(expirationTime);
    const place = namespace === undefined ? {} : { namespace };
    const done: DoneEffect = { record: { name, uid, ...place }, result, expiresAtMs };
    this.#done.set(id, done);
    this.#wakeAt(Math.max(expiresAtMs, this.parts.clock.now() + sweepEveryMs));
    return done;
  }

  isExpired({ expiresAtMs }: DoneEffect): boolean {
    return expiresAtMs <= this.parts.clock.now();
  }

  /**
   * Deletes the record of an effect, unless a newer record has replaced it. Afterwards, the effect may happen again.
   */
  async delete(id: string, done: DoneEffect, client: Pick<Client, 'delete'>): Promise<void> {
    const { name, namespace, uid } = done.record;
    const place = namespace === undefined ? {} : { namespace };
    try {
      await client.delete(externalEffectModel, name, { preconditions: { uid }, ...place });
    } catch (error) {
      if (isFormerLeader(error) || !(isNotFound(error) || isConflict(error))) throw error;
    }
    if (this.#done.peek(id)?.record.uid === uid) this.#done.delete(id);
  }

  /** True when no record is being deleted. */
  isIdle(): boolean {
    return this.#sweep === undefined;
  }

  /** Stops the deletion of expired records. Resolves when no deletion is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.parts.clock.clearTimeout(this.#timer);
    await this.#sweep;
  }

  #wakeAt(atMs: number): void {
    if (this.#isStopped || atMs >= this.#wakeAtMs) return;
    const { clock } = this.parts;
    clock.clearTimeout(this.#timer);
    this.#wakeAtMs = atMs;
    this.#timer = clock.setTimeout(() => this.#wake(), Math.min(Math.max(atMs - clock.now(), 0), longestWaitMs));
  }

  #wake(): void {
    this.#wakeAtMs = Infinity;
    this.#sweep ??= this.#deleteExpired().finally(() => (this.#sweep = undefined));
  }

  /** Deletes the stored records of those effects in memory that have expired. Never rejects. */
  async #deleteExpired(): Promise<void> {
    const { clock, logger, client } = this.parts;
    const expired = [...this.#done.entries()].filter(([, done]) => this.isExpired(done));
    try {
      for (let from = 0; from < expired.length && !this.#isStopped; from += deletedAtOnce) {
        const some = expired.slice(from, from + deletedAtOnce);
        await Promise.all(some.map(([id, done]) => this.delete(id, done, client)));
      }
    } catch (err) {
      logger.warn({ err }, 'expired records of external effects could not be deleted; trying again later');
      return this.#wakeAt(clock.now() + sweepAgainMs);
    }
    let nextMs = Infinity;
    for (const [, { expiresAtMs }] of this.#done.entries()) nextMs = Math.min(nextMs, expiresAtMs);
    this.#wakeAt(Math.max(nextMs, clock.now() + sweepEveryMs));
  }
}
