import { createHash } from 'node:crypto';
import type { Clock, Logger, Timer } from '@homeostat/controller-runtime/api';
import { readVault } from '../vault/read-vault.ts';
import type { Vault } from '../vault/vault.ts';

/**
 * The prefix of the names of the vault's values with failed logins. Failed logins are counted for an account, an
 * address, or a pair of both. Each of these has a digest. Those whose digests begin with the same byte share one value,
 * so there are at most 256 values.
 */
const prefix = 'login-failures/';

/**
 * The maximum number of keys in one value of the vault; the value contains their failed logins. A key is an account, an
 * address, or a pair of both. The 256 values together have at most 10,240 keys.
 */
const maxPerValue = 40;

/**
 * The delay in milliseconds before failed logins are written to the vault; it begins at the first of them. At most
 * {@link storedAtOnce} values are written after one delay. The rest wait for the same delay again.
 */
const storeMs = 1000;
const storedAtOnce = 8;

/**
 * The maximum number of keys (accounts, addresses, and pairs of both) whose failed logins wait to be stored. The failed
 * logins of further keys are not stored.
 */
const maxPending = 10_000;

export interface Failures {
  readonly count: number;
  /** The time of the last failure, by the wall clock, so that replicas can compare it. */
  readonly lastMs: number;
}

/**
 * A value in the vault: the failed logins of several keys (accounts, addresses, and pairs of both), by the digests of
 * these keys.
 */
type Stored = Readonly<Record<string, Failures>>;

/** The changes to the count of one key's failed logins that are not stored in the vault yet. */
interface Pending extends Failures {
  /**
   * The number of calls of {@link SharedFailures.forget} for the key. If it is 0, `count` is added to the count in the
   * vault. Otherwise, `count` replaces the count in the vault.
   */
  readonly resets: number;
}

export interface SharedFailuresParts {
  readonly vault: Vault;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The time without another failure after which failures no longer count. */
  readonly forgetMs: number;
}

/**
 * The failed logins of all replicas. They are kept over a restart. Failures are counted by key: an account, an address,
 * or a pair of both. Clients without credentials can cause failures, so their cost is limited to eight small writes a
 * second, and 10,240 keys. Other replicas receive a failure about a second later, or about half a minute later when the
 * failures of many keys wait to be written. Keys with few failures are dropped first, so that many keys cannot displace
 * a key that fails often. Failures for names without a user also count, so that the server does not reveal which names
 * have a user.
 */
export class SharedFailures {
  readonly #parts: SharedFailuresParts;
  readonly #pending = new Map<string, Pending>();
  /** The digests of the keys whose failed logins are being written to the vault. */
  readonly #storing = new Set<string>();
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(parts: SharedFailuresParts) {
    this.#parts = parts;
  }

  /**
   * Returns the number of failed logins of a key (an account, an address, or a pair of both), and the time of the last
   * one; undefined when there are none.
   */
  of(key: string): Failures | undefined {
    const digest = digestOf(key);
    return this.#sumOf(this.#storedOf(digest), this.#pending.get(digest));
  }

  add(key: string): void {
    this.#change(digestOf(key), 1);
  }

  /**
   * Removes one failure. An attempt counts as failed when it begins; this is for an attempt that has then succeeded.
   */
  takeBack(key: string): void {
    this.#change(digestOf(key), -1);
  }

  /** Deletes all failed logins of a key, which is an account, an address, or a pair of both. */
  forget(key: string): void {
    const digest = digestOf(key);
    const { resets } = this.#pending.get(digest) ?? nothing;
    this.#set(digest, { resets: resets + 1, count: 0, lastMs: this.#parts.clock.now() });
  }

  /** Starts no further write, so failures that are not stored yet are lost. */
  stop(): void {
    this.#isStopped = true;
    this.#parts.clock.clearTimeout(this.#timer);
  }

  #change(digest: string, by: number): void {
    const { resets, count } = this.#pending.get(digest) ?? nothing;
    this.#set(digest, { resets, count: count + by, lastMs: this.#parts.clock.now() });
  }

  /**
   * Remembers the failed logins of a key until they are written to the vault. Forgets the key when there is nothing to
   * write, for example when all its failures were taken back before they were written.
   */
  #set(digest: string, pending: Pending): void {
    const { count, resets } = pending;
    const isNothing = this.#storedOf(digest) === undefined ? count <= 0 : count === 0 && resets === 0;
    // While a count is being written to the vault, a change to the count must be remembered until the write has ended.
    if (isNothing && !this.#storing.has(digest)) this.#pending.delete(digest);
    else if (this.#pending.size < maxPending || this.#pending.has(digest)) this.#pending.set(digest, pending);
    if (this.#pending.size > 0) this.#startTimer();
  }

  #startTimer(): void {
    if (this.#timer !== undefined || this.#isStopped) return;
    this.#timer = this.#parts.clock.setTimeout(() => void this.#storeNext(), storeMs);
    this.#timer.unref?.();
  }

  async #storeNext(): Promise<void> {
    try {
      const next = this.#byName().slice(0, storedAtOnce);
      await Promise.all(next.map(async ([name, taken]) => this.#store(name, taken)));
    } catch (err) {
      this.#parts.logger.warn({ err }, 'failed logins could not be stored; trying again');
    }
    this.#timer = undefined;
    if (this.#pending.size > 0) this.#startTimer();
  }

  /**
   * Returns the failures that wait to be stored, grouped by the name of the vault value that will store them. The group
   * with the failure that has waited longest comes first.
   */
  #byName(): (readonly [string, readonly DigestPending[]])[] {
    const byName = new Map<string, DigestPending[]>();
    for (const each of this.#pending) {
      const name = nameOf(each[0]);
      const others = byName.get(name);
      if (others === undefined) byName.set(name, [each]);
      else others.push(each);
    }
    return [...byName];
  }

  /**
   * Adds failures to a stored value. When two replicas write the same value at the same time, one write replaces the
   * other, and the vault loses the failures of the other write, usually those of one second. The `LoginThrottle` of
   * each replica still counts the failures on its replica.
   */
  async #store(name: string, taken: readonly DigestPending[]): Promise<void> {
    const { vault } = this.#parts;
    const before = readVault<Stored>(vault, name);
    const next = new Map(Object.entries(before ?? {}).filter(([, failures]) => this.#isRecent(failures)));
    for (const [digest, pending] of taken) {
      const sum = this.#sumOf(next.get(digest), pending);
      if (sum === undefined) next.delete(digest);
      else next.set(digest, sum);
    }
    const kept = [...next].sort(([, a], [, b]) => b.count - a.count || b.lastMs - a.lastMs).slice(0, maxPerValue);
    for (const [digest] of taken) this.#storing.add(digest);
    try {
      if (kept.length > 0) await vault.put(name, Object.fromEntries(kept));
      else if (before !== undefined) await vault.delete(name);
    } finally {
      for (const [digest] of taken) this.#storing.delete(digest);
    }
    for (const [digest, stored] of taken) this.#leaveRest(digest, stored);
  }

  /** Keeps the failures that occurred while earlier ones were being stored. */
  #leaveRest(digest: string, stored: Pending): void {
    const pending = this.#pending.get(digest);
    if (pending === undefined || pending.resets !== stored.resets) return;
    this.#pending.delete(digest);
    if (pending.count !== stored.count)
      this.#pending.set(digest, { ...pending, resets: 0, count: pending.count - stored.count });
  }

  #storedOf(digest: string): Failures | undefined {
    const failures = readVault<Stored>(this.#parts.vault, nameOf(digest))?.[digest];
    return failures !== undefined && this.#isRecent(failures) ? failures : undefined;
  }

  #sumOf(stored: Failures | undefined, pending: Pending = nothing): Failures | undefined {
    const former = pending.resets > 0 ? undefined : stored;
    const count = (former?.count ?? 0) + pending.count;
    if (count <= 0) return undefined;
    return { count, lastMs: Math.max(former?.lastMs ?? 0, pending.lastMs) };
  }

  #isRecent({ lastMs }: Failures): boolean {
    const { clock, forgetMs } = this.#parts;
    return clock.now() - lastMs < forgetMs;
  }
}

type DigestPending = readonly [digest: string, pending: Pending];

const nothing: Pending = { resets: 0, count: 0, lastMs: 0 };

function nameOf(digest: string): string {
  return prefix + digest.slice(0, 2);
}

/** Returns the digest of a key. Digests are stored instead of keys, because names that clients send may be long. */
function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}
