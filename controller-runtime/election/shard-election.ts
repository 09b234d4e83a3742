import { shardOf } from '../api/index.ts';
import { sleep } from '../clock/sleep.ts';
import type { ElectionSettings } from './election-options.ts';
import { planShards, type SeenShard } from './shard-balance.ts';
import { ShardSeat, type SeatParts } from './shard-seat.ts';

/**
 * Shares the shards of a controller among the running processes: each shard is a Lease, whose holder reconciles the
 * keys of the shard. A process that has too few shards requests a shard in the field `preferredHolder` of the shard's
 * Lease; the holder waits until the runs of the shard have ended, and releases the lease. No process decides for the
 * others, and only the holder of a shard reconciles its keys.
 */
export class ShardElection {
  readonly #settings: ElectionSettings & { readonly strategy: string };
  readonly #parts: SeatParts;
  readonly #seats: readonly ShardSeat[];
  #isSettled = false;
  #isWarned = false;

  /** `settings` are the settings of all leases; the lease of a shard is named `<name>.<index>`. */
  constructor(settings: ElectionSettings, shards: number, parts: SeatParts) {
    const strategy = `shards.homeostat.internal/${shards}`;
    this.#settings = { ...settings, strategy };
    this.#parts = parts;
    this.#seats = Array.from({ length: shards }, (_, index) => {
      const name = `${settings.name}.${index}`;
      return new ShardSeat(index, { ...this.#settings, name }, parts);
    });
  }

  /** The shards that this process reconciles. */
  get held(): readonly number[] {
    return this.#seats.filter(({ isHeld }) => isHeld).map(({ index }) => index);
  }

  /**
   * True when no shard is moving, and each shard is reconciled by this process or was held by another process when its
   * lease was last read.
   */
  get isSettled(): boolean {
    return this.#isSettled && this.#seats.every((seat) => seat.isHeld || (seat.isAway && seat.holder !== undefined));
  }

  /**
   * The namespace and name of a lease that this process holds but has neither renewed nor released within its duration;
   * undefined when there is no such lease.
   */
  get overdue(): string | undefined {
    const seat = this.#seats.find(({ isOverdue }) => isOverdue);
    return seat && `${this.#settings.namespace}/${this.#settings.name}.${seat.index}`;
  }

  /**
   * Divides the shards with the other processes until the signal aborts. Then ends the work on the shards of this
   * process, and releases their leases. Never rejects.
   */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#step(signal);
      await sleep(this.#parts.clock, this.#pauseMs(), signal);
    }
    this.#isSettled = false;
    await Promise.all(this.#seats.map((seat) => seat.stop()));
  }

  /**
   * Returns the time until the next step: one retry period, or less if the lease of another process expires earlier. So
   * the shard of a silent process can be taken over as soon as its lease expires.
   */
  #pauseMs(): number {
    const expiries = this.#seats.map(({ expiresInMs }) => Math.max(1, Math.ceil(expiresInMs)));
    return Math.min(this.#settings.retryPeriodMs, ...expiries);
  }

  async #step(signal: AbortSignal): Promise<void> {
    await this.#look();
    if (signal.aborted) return;
    this.#giveUp();
    if (this.#seesOtherNumber()) return;
    const silent = new Set(this.#seats.flatMap(({ formerHolder }) => formerHolder ?? []));
    const seen = this.#inTurn().map((seat) => this.#seen(seat, silent));
    const plan = planShards(this.#settings.identity, seen);
    if (plan.take.length > 0) await this.#take(plan.take, signal);
    if (!signal.aborted) await Promise.all(this.#seatsOf(plan.ask).map((seat) => seat.ask()));
    this.#isSettled = plan.take.length + plan.ask.length === 0;
  }

  async #look(): Promise<void> {
    await Promise.all(this.#seats.filter(({ isAway }) => isAway).map((seat) => seat.look()));
  }

  /**
   * Starts to give up the shards that other processes have requested. Each shard is given up in the background, because
   * its runs may take long to end.
   */
  #giveUp(): void {
    for (const seat of this.#seats) {
      const { asker } = seat;
      if (seat.isHeld && asker !== undefined && asker !== this.#settings.identity) void seat.leave();
    }
  }

  /**
   * Takes free shards: shard 0 before the others, because its lease determines the number of shards. Processes that
   * start at the same time with different numbers of shards detect each other when they read the leases again, before
   * the first run.
   */
  async #take(shards: readonly number[], signal: AbortSignal): Promise<void> {
    const first = this.#seats[0];
    if (shards.includes(0)) await first?.take();
    const isDecided = first !== undefined && (!first.isAway || first.holder !== undefined);
    if (!isDecided || signal.aborted) return;
    const others = this.#seatsOf(shards).filter(({ index }) => index !== 0);
    await Promise.all(others.map((seat) => seat.take()));
    await this.#look();
    if (signal.aborted || this.#seesOtherNumber()) return;
    for (const seat of this.#seatsOf(shards)) seat.open();
  }

  #seatsOf(shards: readonly number[]): readonly ShardSeat[] {
    return this.#seats.filter(({ index }) => shards.includes(index));
  }

  /**
   * True while a process with another number of shards holds a lease. Two processes could then reconcile the same key,
   * so this process gives up its shards.
   */
  #seesOtherNumber(): boolean {
    const { strategy } = this.#settings;
    const other = this.#seats.find((seat) => seat.isAway && seat.holder !== undefined && seat.strategy !== strategy);
    if (other === undefined) {
      this.#isWarned = false;
      return false;
    }
    if (!this.#isWarned) {
      const found = { lease: `${this.#settings.name}.${other.index}`, holder: other.holder, strategy: other.strategy };
      this.#parts.logger.error(found, `other processes use another number of shards: waiting until they stop`);
      this.#isWarned = true;
    }
    for (const seat of this.#seats) void seat.leave();
    return true;
  }

  /**
   * Returns a shard as this process sees it. `silent` has the processes that have let the lease of a shard expire: they
   * no longer count as holders, although their other leases may expire a second later.
   */
  #seen(seat: ShardSeat, silent: ReadonlySet<string>): SeenShard {
    const { index, isFree, asker, isAway, isHeld, holder } = seat;
    const { identity } = this.#settings;
    if (!isAway) return { index, owner: asker ?? (isHeld ? identity : undefined), isFree, canAsk: false };
    if (holder !== undefined && silent.has(holder)) return { index, owner: undefined, isFree, canAsk: false };
    const owner = isFree ? undefined : (asker ?? holder);
    return { index, owner, isFree, canAsk: holder !== undefined && owner !== identity };
  }

  /**
   * Returns the shards in the order in which this process tries to take them. The order begins with a different shard
   * in each process, so that the processes do not all try to take the same shard. Shard 0 is an exception: it comes
   * before all others in every process, because its lease determines the number of shards.
   */
  #inTurn(): readonly ShardSeat[] {
    const start = shardOf(this.#settings.identity, this.#seats.length);
    const turned = [...this.#seats.slice(start), ...this.#seats.slice(0, start)];
    return turned.toSorted((a, b) => Number(b.index === 0) - Number(a.index === 0));
  }
}
