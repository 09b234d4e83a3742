import type { Logger } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import type { ElectionSettings } from './election-options.ts';
import { LeaderClient } from './leader-client.ts';
import { LeaderElector, type ElectorParts } from './leader-elector.ts';
import type { Term } from './term.ts';

/** Reconciles the shards whose leases this process holds. */
interface ShardHost {
  /** Starts to reconcile a shard, with writes through `held.client`. */
  open(index: number, held: HeldTerm): void;
  /** Prevents further runs of a shard, and waits until the runs under way have ended, even beyond the grace period. */
  drain(index: number): Promise<void>;
  /**
   * Stops the work for a shard. Runs that take longer than `graceMs` are abandoned. The default is the grace period of
   * the manager.
   */
  close(index: number, graceMs?: number): Promise<void>;
}

interface HeldTerm {
  readonly client: Client;
  readonly leader: { readonly lease: string; readonly identity: string; readonly term: number };
  readonly mayWrite: () => boolean;
}

export interface SeatParts extends ElectorParts {
  readonly client: Client;
  readonly logger: Logger;
  readonly host: ShardHost;
}

/** The lease of one shard. This process may take it, reconcile the shard and release it any number of times. */
export class ShardSeat {
  readonly index: number;
  readonly #settings: ElectionSettings;
  readonly #parts: SeatParts;
  #elector: LeaderElector;
  #term: Term | undefined;
  #isOpen = false;
  #holding: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;
  #ending: Promise<void> | undefined;
  #isReleased = false;
  #isKnown = false;

  constructor(index: number, settings: ElectionSettings, parts: SeatParts) {
    this.index = index;
    this.#settings = settings;
    this.#parts = parts;
    this.#elector = new LeaderElector(settings, parts);
  }

  /** True while this process holds the lease, and reconciles the shard. */
  get isHeld(): boolean {
    return this.#isOpen && this.#ending === undefined;
  }

  /** True when this process neither holds the shard nor is giving it up at the moment. */
  get isAway(): boolean {
    return this.#term === undefined && this.#ending === undefined;
  }

  /**
   * The process that holds the shard according to the last read of the lease; undefined when there is none, when the
   * read failed, or when the lease has expired.
   */
  get holder(): string | undefined {
    return this.#isKnown && this.#elector.freeInMs > 0 ? this.#elector.holder : undefined;
  }

  /** The process that held the shard, and has not renewed the lease within its duration. */
  get formerHolder(): string | undefined {
    return this.isAway && this.#isKnown && this.#elector.freeInMs <= 0 ? this.#elector.holder : undefined;
  }

  /** The process that has requested the shard. */
  get asker(): string | undefined {
    const { preferredHolder = '' } = this.#elector.seen;
    return preferredHolder === '' || preferredHolder === this.#elector.holder ? undefined : preferredHolder;
  }

  get strategy(): string | undefined {
    return this.#elector.seen.strategy;
  }

  /**
   * The time in milliseconds until the lease of another process expires, if that process does not renew it; Infinity
   * when no other process holds the shard.
   */
  get expiresInMs(): number {
    return this.isAway && this.holder !== undefined ? this.#elector.freeInMs : Infinity;
  }

  /**
   * True when this process may take the shard. A shard that was released for another process is reserved for that
   * process for two retry periods.
   */
  get isFree(): boolean {
    if (!this.isAway || !this.#isKnown || this.#elector.freeInMs > 0) return false;
    const { identity, retryPeriodMs } = this.#settings;
    const { asker } = this;
    const isMeantForOther = this.#elector.holder === undefined && asker !== undefined && asker !== identity;
    return !isMeantForOther || this.#elector.unchangedMs > 2 * retryPeriodMs;
  }

  get isOverdue(): boolean {
    return this.#elector.isOverdue;
  }

  /** Reads the lease. When the read fails, the lease counts as held by an unknown process. */
  async look(): Promise<void> {
    try {
      await this.#elector.look();
      this.#isKnown = true;
    } catch (err) {
      this.#isKnown = false;
      this.#parts.logger.debug({ err, lease: this.#settings.name }, 'the lease of a shard could not be read');
    }
  }

  async ask(): Promise<void> {
    try {
      await this.#elector.ask();
    } catch (err) {
      this.#parts.logger.debug(
        { err, lease: this.#settings.name },
        'this process could not request a shard from another process; trying again',
      );
    }
  }

  /**
   * Takes the lease of the shard if it is free, and then renews it regularly. Does not reconcile the shard yet:
   * {@link open} starts that.
   */
  async take(): Promise<void> {
    const term = await this.#elector.take();
    if (term === undefined) return;
    this.#term = term;
    const stop = new AbortController();
    this.#holding = { stop, done: this.#elector.hold(term, stop.signal) };
    term.signal.addEventListener('abort', () => this.#onEnd(term));
  }

  /** Starts to reconcile the shard, if this process holds it. */
  open(): void {
    const term = this.#term;
    if (term === undefined || this.#isOpen || this.#ending !== undefined || term.signal.aborted) return;
    this.#isOpen = true;
    const { host, client } = this.#parts;
    const { namespace, name, transitions } = term.epoch;
    const leader = { lease: `${namespace}/${name}`, identity: this.#settings.identity, term: transitions };
    host.open(this.index, {
      client: new LeaderClient(client, term),
      leader,
      mayWrite: () => !term.signal.aborted,
    });
  }

  /** Gives the shard up: once its runs have ended, its lease is released. */
  async leave(): Promise<void> {
    if (this.#term !== undefined) await (this.#ending ??= this.#end(() => this.#move()));
  }

  /** Gives the shard up within the grace period: runs that take longer are abandoned. */
  async stop(): Promise<void> {
    if (this.#term === undefined) return;
    const closing = this.#parts.host.close(this.index);
    await (this.#ending ??= this.#end(() => closing));
    await closing;
  }

  async #move(): Promise<void> {
    const { host } = this.#parts;
    await host.drain(this.index);
    await host.close(this.index);
  }

  #onEnd(term: Term): void {
    if (this.#isReleased) return;
    const { host, logger } = this.#parts;
    logger.error({ lease: this.#settings.name, err: term.signal.reason }, 'the lease of a shard is lost');
    const closing = host.close(this.index, 0);
    this.#ending ??= this.#end(() => closing);
  }

  /** Ends the work, releases the lease if it is still held, and becomes a candidate again. */
  async #end(work: () => Promise<void>): Promise<void> {
    await work();
    this.#holding?.stop.abort();
    await this.#holding?.done;
    this.#isReleased = true;
    await this.#elector.release();
    this.#term = undefined;
    this.#holding = undefined;
    this.#isOpen = false;
    this.#isReleased = false;
    this.#isKnown = false;
    this.#elector = new LeaderElector(this.#settings, this.#parts);
    this.#ending = undefined;
  }
}
