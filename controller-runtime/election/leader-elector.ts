import { ignoreNotFound } from '../api/index.ts';
import type { Clock, LeaderEpoch, Logger } from '../api/index.ts';
import { linkAbort } from '../client/abort.ts';
import type { Client } from '../client/client.ts';
import { isLostRace } from '../client/retryable-errors.ts';
import { sleep } from '../clock/sleep.ts';
import { jitterFactor, type ElectionSettings } from './election-options.ts';
import { Lease, type LeaseSpec } from '../kinds/kubernetes-kinds.ts';
import { heldSpec, releasedSpec } from './lease.ts';
import { Term } from './term.ts';

export interface ElectorParts {
  readonly client: Pick<Client, 'get' | 'create' | 'update'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a random number from 0 to below 1, with a uniform distribution. */
  readonly random: () => number;
}

/** The state of a lease when it was last read. */
interface Observed {
  readonly lease: Lease;
  /**
   * A text that identifies the last renewal by the holder. A request for the lease (`preferredHolder`) does not change
   * this text.
   */
  readonly record: string;
  /**
   * The time at which this renewal was first seen, by the clock of this process. The timestamps of other processes are
   * not trusted.
   */
  readonly atMs: number;
}

/**
 * One candidate of an election, by client-go's rules: a candidate takes the lease when no process holds it, when the
 * holder has not renewed it for its duration, or when the holder has the identity of the candidate. A write of an
 * existing lease has its revision as a precondition. Call {@link acquire}, or {@link take} for a single attempt. Once
 * this candidate is elected, call {@link hold}, and then {@link release}, each once.
 */
export class LeaderElector {
  readonly #settings: ElectionSettings;
  readonly #parts: ElectorParts;
  #observed: Observed | undefined;
  #term: Term | undefined;
  /** The monotonic time at which the last successful attempt to take or renew the lease began. */
  #renewedMs = 0;

  constructor(settings: ElectionSettings, parts: ElectorParts) {
    this.#settings = settings;
    this.#parts = parts;
  }

  /** The holder of the lease when it was last read; undefined when it had none, or has not been read. */
  get holder(): string | undefined {
    const holder = this.#observed?.lease.spec?.holderIdentity;
    return holder === '' ? undefined : holder;
  }

  /** The spec of the lease when it was last read. */
  get seen(): LeaseSpec {
    return this.#observed?.lease.spec ?? {};
  }

  /**
   * The time in milliseconds until the lease is free, according to the last read; 0 or less when it is free, or has not
   * been read.
   */
  get freeInMs(): number {
    const { lease, atMs } = this.#observed ?? {};
    if (lease === undefined || atMs === undefined || this.holder === undefined) return 0;
    return atMs + this.#durationMs(lease) - this.#parts.clock.monotonicMs();
  }

  /**
   * The time in milliseconds since the last change of the lease's spec was seen, not counting changes of
   * `preferredHolder`; Infinity when no lease has been read.
   */
  get unchangedMs(): number {
    return this.#parts.clock.monotonicMs() - (this.#observed?.atMs ?? -Infinity);
  }

  /** Reads the lease, without taking it. Rejects when it cannot be read in time. */
  async look(): Promise<void> {
    const { name, namespace, renewDeadlineMs } = this.#settings;
    await this.#bounded(renewDeadlineMs, async (signal) => {
      const lease = await this.#parts.client.get(Lease, name, { namespace, signal }).catch(ignoreNotFound);
      signal.throwIfAborted();
      if (lease === undefined) this.#observed = undefined;
      else this.#observe(lease);
    });
  }

  /**
   * Takes the lease if it is free or held under the identity of this process, and resolves with the term. Resolves with
   * undefined when another process holds the lease or was faster, or when a request failed. Never rejects.
   */
  async take(): Promise<Term | undefined> {
    return (await this.#attempt(this.#settings.renewDeadlineMs)) ? this.#term : undefined;
  }

  /**
   * Asks the holder to release the lease for this process. Rejects when the write fails, for example because the lease
   * has changed since it was read.
   */
  async ask(): Promise<void> {
    const lease = this.#observed?.lease;
    if (lease === undefined) return;
    const spec = { ...lease.spec, preferredHolder: this.#settings.identity };
    await this.#bounded(this.#settings.renewDeadlineMs, async (signal) => {
      const asked = await this.#write(lease, spec, signal);
      signal.throwIfAborted();
      this.#observe(asked);
    });
  }

  /**
   * True when this process holds the lease, but has neither renewed nor released it within its duration. Then the
   * process was suspended, or its event loop was blocked.
   */
  get isOverdue(): boolean {
    const isHeld = this.#term?.signal.aborted === false;
    return isHeld && this.#parts.clock.monotonicMs() > this.#renewedMs + this.#settings.leaseDurationMs;
  }

  /** Resolves with the term when this process is elected, or with undefined when the signal aborts before that. */
  async acquire(signal: AbortSignal): Promise<Term | undefined> {
    const { renewDeadlineMs, retryPeriodMs } = this.#settings;
    while (!signal.aborted) {
      if (await this.#attempt(renewDeadlineMs)) break;
      await sleep(this.#parts.clock, retryPeriodMs * (1 + jitterFactor * this.#parts.random()), signal);
    }
    return signal.aborted ? undefined : this.#term;
  }

  /** Renews the lease until the signal aborts, or the term is over. Never rejects. */
  async hold(term: Term, signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    const { renewDeadlineMs, retryPeriodMs } = this.#settings;
    const until = new AbortController();
    const unlink = [linkAbort(until, signal), linkAbort(until, term.signal)];
    while (!until.signal.aborted) {
      await sleep(clock, Math.min(retryPeriodMs, this.#remainingMs()), until.signal);
      if (until.signal.aborted) break;
      // The time is checked first: after a pause of this process, another process may hold the lease.
      if (this.#remainingMs() > 0) await this.#attempt(this.#remainingMs());
      if (this.#remainingMs() <= 0) term.end(`the lease was not renewed within ${renewDeadlineMs} ms`);
    }
    for (const each of unlink) each();
  }

  /**
   * Releases the lease, if this process holds it, so that the next leader need not wait until it expires. Never
   * rejects.
   */
  async release(): Promise<void> {
    const term = this.#term;
    if (term === undefined || term.signal.aborted) return;
    term.end('this process released the lease');
    try {
      await this.#bounded(this.#settings.renewDeadlineMs, (signal) => this.#release(signal));
    } catch (err) {
      this.#parts.logger.warn({ err, lease: this.#name }, 'the lease could not be released; it will expire');
    }
  }

  get #name(): string {
    return `${this.#settings.namespace}/${this.#settings.name}`;
  }

  #remainingMs(): number {
    return this.#renewedMs + this.#settings.renewDeadlineMs - this.#parts.clock.monotonicMs();
  }

  /**
   * Takes or renews the lease within `limitMs`. Resolves with true on success, and otherwise with false; never rejects.
   */
  async #attempt(limitMs: number): Promise<boolean> {
    const startedMs = this.#parts.clock.monotonicMs();
    try {
      const lease = await this.#bounded(limitMs, (signal) => this.#tryOnce(signal));
      if (lease === undefined) return false;
      this.#observe(lease);
      this.#term ??= new Term(this.#epochOf(lease));
      this.#renewedMs = startedMs;
      return true;
    } catch (err) {
      // It is normal that another candidate is faster, so no warning is logged.
      const level = isLostRace(err) ? 'debug' : 'warn';
      this.#parts.logger[level]({ err, lease: this.#name }, 'the lease was not taken or renewed; trying again');
      return false;
    }
  }

  /**
   * Takes or renews the lease. Returns the written lease; undefined when another process holds it, or the term of this
   * process is over.
   */
  async #tryOnce(signal: AbortSignal): Promise<Lease | undefined> {
    const renewed = this.#term === undefined ? undefined : await this.#renew(signal);
    if (renewed !== undefined) return renewed;
    // A client may ignore the signal, so a late response must have no effect.
    signal.throwIfAborted();
    const { client } = this.#parts;
    const { name, namespace } = this.#settings;
    const lease = await client.get(Lease, name, { namespace, signal }).catch(ignoreNotFound);
    signal.throwIfAborted();
    if (lease === undefined) return this.#createLease(signal);
    this.#observe(lease);
    const isOurs = lease.spec?.holderIdentity === this.#settings.identity;
    const mayWrite = this.#term === undefined ? isOurs || this.#isFree(lease) : this.#goesOn(this.#term, lease);
    if (!mayWrite) return undefined;
    return this.#write(lease, this.#heldSpec(lease.spec), signal);
  }

  /**
   * Renews the lease without reading it first, which is the usual case. Returns undefined when the write fails, for
   * example because another process has changed the lease.
   */
  async #renew(signal: AbortSignal): Promise<Lease | undefined> {
    const lease = this.#observed?.lease;
    if (lease === undefined) return undefined;
    return this.#write(lease, this.#heldSpec(lease.spec), signal).catch(() => undefined);
  }

  async #createLease(signal: AbortSignal): Promise<Lease | undefined> {
    this.#term?.end('it was deleted');
    if (this.#term !== undefined) return undefined;
    const { name, namespace } = this.#settings;
    const lease = { metadata: { name, namespace }, spec: this.#heldSpec(undefined) };
    return this.#parts.client.create(Lease, lease, { namespace, signal });
  }

  /**
   * Called after a failed renewal, with the lease that was then read. Returns true when the term continues; otherwise,
   * ends the term and returns false. If another process has held the lease in between, this process does not know the
   * writes of that process, so the term ends. After the end of its term, this process does not write the lease.
   */
  #goesOn(term: Term, lease: Lease): boolean {
    const { holderIdentity = '' } = lease.spec ?? {};
    const { uid, transitions } = this.#epochOf(lease);
    if (holderIdentity === '') term.end('the lease has no holder');
    else if (holderIdentity !== this.#settings.identity) term.end(`${holderIdentity} holds the lease`);
    else if (uid !== term.epoch.uid || transitions !== term.epoch.transitions)
      term.end('another process held the lease in the meantime');
    return !term.signal.aborted;
  }

  /** True when the lease has no holder, or its holder has not renewed it for its duration. */
  #isFree(lease: Lease): boolean {
    if ((lease.spec?.holderIdentity ?? '') === '') return true;
    return this.#parts.clock.monotonicMs() >= (this.#observed?.atMs ?? 0) + this.#durationMs(lease);
  }

  #durationMs({ spec: { leaseDurationSeconds } = {} }: Lease): number {
    return leaseDurationSeconds === undefined ? this.#settings.leaseDurationMs : leaseDurationSeconds * 1000;
  }

  #observe(lease: Lease): void {
    // A write by which another process requests the lease (`preferredHolder`) does not count as a renewal.
    const { preferredHolder: _, ...spec } = lease.spec ?? {};
    const record = JSON.stringify([lease.metadata.uid, spec]);
    const atMs = this.#observed?.record === record ? this.#observed.atMs : this.#parts.clock.monotonicMs();
    this.#observed = { lease, record, atMs };
  }

  #heldSpec(previous: LeaseSpec | undefined): LeaseSpec {
    const { identity, leaseDurationMs, strategy } = this.#settings;
    const isRenewal = this.#term !== undefined;
    return heldSpec(previous, { identity, leaseDurationMs, nowMs: this.#parts.clock.now(), isRenewal, strategy });
  }

  /**
   * Writes the lease with its revision as a precondition: of two candidates that take it at the same time, only one
   * succeeds.
   */
  #write(lease: Lease, spec: LeaseSpec, signal: AbortSignal): Promise<Lease> {
    return this.#parts.client.update<Lease>({ ...lease, spec }, { signal });
  }

  #epochOf({ metadata, spec }: Lease): LeaderEpoch {
    const { name, namespace } = this.#settings;
    return { namespace, name, uid: metadata.uid, transitions: spec?.leaseTransitions ?? 0 };
  }

  async #release(signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#parts;
    const { name, namespace, identity } = this.#settings;
    const lease = await client.get(Lease, name, { namespace, signal }).catch(ignoreNotFound);
    if (lease?.spec?.holderIdentity !== identity) return;
    await this.#write(lease, releasedSpec(lease.spec, clock.now()), signal);
  }

  /**
   * Runs a task with a time limit. Rejects after the limit even if the task continues, because a client may ignore the
   * signal.
   */
  async #bounded<R>(limitMs: number, task: (signal: AbortSignal) => Promise<R>): Promise<R> {
    const abort = new AbortController();
    const { clock } = this.#parts;
    let timer;
    const late = new Promise<never>((_, reject) => {
      timer = clock.setTimeout(() => {
        const error = new Error(`no response within ${limitMs} ms`);
        abort.abort(error);
        reject(error);
      }, limitMs);
    });
    try {
      return await Promise.race([task(abort.signal), late]);
    } finally {
      clock.clearTimeout(timer);
    }
  }
}
