import type { Clock } from '@homeostat/controller-runtime/api';
import type { SharedFailures } from './shared-failures.ts';

/** The error of a login that is refused before its password or token is checked. */
export class TooManyLogins extends Error {
  override readonly name = 'TooManyLogins';
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    super('too many logins failed, or are under way: try again later');
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * The number of logins that may fail before the next one has to wait: for an account, for an account at an address from
 * which it has logged in before (`home`), and for an address. People mistype passwords, and may share an address.
 */
const freeFailures = { account: 5, home: 5, address: 20 } as const;

/** The maximum wait. The first wait is a second, and each further one is twice as long. */
const maxWaitMs = 60_000;

/** The time without another failure after which failures no longer count. */
export const forgetMs: number = 15 * 60_000;

/**
 * The maximum length of each list that a replica keeps in memory: of accounts, of addresses, and of pairs of an account
 * and an address. Beyond that, a new entry replaces the oldest.
 */
const maxKept = 10_000;

interface Failures {
  readonly count: number;
  readonly lastMs: number;
}

/** The kinds of counts of failures: for an account, for an account at one address (`home`), and for an address. */
type Part = 'account' | 'home' | 'address';

/**
 * Slows down logins that fail again and again, by account and by address. Failures on this replica count immediately.
 * The failures of all replicas arrive about a second later, or about half a minute later while logins of many accounts
 * or from many addresses fail, and are kept over a restart. A login waits for the longer of two times: one results from
 * the failures on this replica, the other from those of all replicas. An account at an address from which it has logged
 * in before has a separate count, so that failures at other addresses do not lock out its owner.
 */
export class LoginThrottle {
  readonly #clock: Clock;
  readonly #shared: SharedFailures;
  readonly #failures: Readonly<Record<Part, Map<string, Failures>>> = {
    account: new Map(),
    home: new Map(),
    address: new Map(),
  };
  /** The pairs of an account and an address from which the account has logged in. The latest pair is the last. */
  readonly #homes = new Set<string>();

  constructor(clock: Clock, shared: SharedFailures) {
    this.#clock = clock;
    this.#shared = shared;
  }

  /**
   * Counts an attempt as failed until it succeeds, so that concurrent attempts have no advantage. @throws TooManyLogins
   * when the attempt has to wait
   */
  begin(attempt: Attempt): void {
    const counts = this.#countsOf(attempt);
    const waitMs = Math.max(...counts.map(([part, key]) => this.#waitMs(part, key)));
    if (waitMs > 0) throw new TooManyLogins(Math.ceil(waitMs / 1000));
    for (const [part, key] of counts) this.#count(part, key);
  }

  /**
   * Records that an attempt succeeded. If the account has logged in from this address before, deletes its count of
   * failures at this address; otherwise deletes its count for all addresses from which it has not logged in before.
   * Subtracts only this attempt from the count of the address, since attackers may try other accounts from there.
   */
  succeed(attempt: Attempt): void {
    const { account, address } = attempt;
    if (account !== undefined) this.#succeedAt(account, address);
    this.#shared.takeBack(sharedKey('address', address));
    const known = this.#failures.address.get(address);
    if (known === undefined) return;
    if (known.count <= 1) this.#failures.address.delete(address);
    else this.#failures.address.set(address, { ...known, count: known.count - 1 });
  }

  /**
   * Adds an address from which an account has logged in before. After a restart, these addresses come from the stored
   * sessions.
   */
  remember(account: string, address: string): void {
    const home = homeOf(account, address);
    this.#homes.delete(home);
    this.#homes.add(home);
    dropOldest(this.#homes);
  }

  #succeedAt(account: string, address: string): void {
    const home = homeOf(account, address);
    const [part, key] = this.#homes.has(home) ? (['home', home] as const) : (['account', account] as const);
    this.#failures[part].delete(key);
    this.#shared.forget(sharedKey(part, key));
    this.remember(account, address);
  }

  #countsOf({ account, address }: Attempt): readonly (readonly [Part, string])[] {
    const ofAddress = ['address', address] as const;
    if (account === undefined) return [ofAddress];
    const home = homeOf(account, address);
    return [this.#homes.has(home) ? ['home', home] : ['account', account], ofAddress];
  }

  #waitMs(part: Part, key: string): number {
    const here = this.#failures[part].get(key);
    const everywhere = this.#shared.of(sharedKey(part, key));
    return Math.max(
      waitOf(part, here, this.#clock.monotonicMs()),
      // The clocks of replicas may differ, so a failure in the future counts as a failure now.
      waitOf(part, everywhere, Math.max(this.#clock.now(), everywhere?.lastMs ?? 0)),
    );
  }

  #count(part: Part, key: string): void {
    const failures = this.#failures[part];
    const lastMs = this.#clock.monotonicMs();
    const known = failures.get(key);
    const count = known === undefined || lastMs - known.lastMs >= forgetMs ? 1 : known.count + 1;
    failures.delete(key);
    failures.set(key, { count, lastMs });
    dropOldest(failures);
    this.#shared.add(sharedKey(part, key));
  }
}

function waitOf(part: Part, failures: Failures | undefined, nowMs: number): number {
  if (failures === undefined) return 0;
  const sinceMs = nowMs - failures.lastMs;
  const excess = failures.count - freeFailures[part];
  if (excess < 0 || sinceMs >= forgetMs) return 0;
  return Math.min(maxWaitMs, 1000 * 2 ** Math.min(excess, 10)) - sinceMs;
}

function sharedKey(part: Part, key: string): string {
  return `${part} ${key}`;
}

/** A login: its account, and the address from which it comes. */
export interface Attempt {
  /** The name of the account; absent for a login at an issuer or with a token, which reveals the account later. */
  readonly account?: string;
  readonly address: string;
}

function homeOf(account: string, address: string): string {
  return JSON.stringify([account, address]);
}

/** Drops the oldest item if there are too many. Maps and sets keep the order of insertion, so it is the first one. */
function dropOldest(kept: Set<string> | Map<string, unknown>): void {
  const [oldest] = kept.keys();
  if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest);
}
