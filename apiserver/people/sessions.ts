import { createHash, randomBytes } from 'node:crypto';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import type { UserInfo } from '../identity/user-info.ts';
import type { Vault } from '../vault/vault.ts';
import { readVault, readVaultEntries } from '../vault/read-vault.ts';

const prefix = 'session/';
const usedPrefix = 'session-used/';
const hourMs = 3_600_000;

/** The time after the last stored use at which a session ends. A use is stored at most once in {@link storeUseMs}. */
const idleMs = 8 * hourMs;

/** The time after the login at which a session ends in any case. */
export const maxSessionMs: number = 7 * 24 * hourMs;

/**
 * The time after the login at which a session that began at an issuer ends. An issuer does not report that a person has
 * left the company, so people have to log in at the issuer again.
 */
const maxIssuerSessionMs = 24 * hourMs;

/**
 * The interval at which the time of the last request is stored. It is not stored at each request, since this needs a
 * write.
 */
const storeUseMs = 300_000;

/** The maximum number of sessions of one user. A further login ends the oldest session. */
const maxPerUser = 50;

const secretForm = /^[\w-]{43}$/;

/** The owner of a session, with the credential that began it. */
export type SessionOwner = OwnerByPassword | OwnerByIssuer | OwnerByToken;

interface OwnerByPassword {
  readonly user: string;
  readonly uid: string;
  /** The id of the password that began the session. */
  readonly password: string;
  /** The address from which the session began; absent in sessions of earlier versions of the server. */
  readonly address?: string;
}

interface OwnerByIssuer {
  readonly user: string;
  /** The id of the settings of the issuer that named the user. */
  readonly settingsId: string;
  /** The user whom the issuer named. */
  readonly info: UserInfo;
}

interface OwnerByToken {
  readonly user: string;
  /** The token that began the session, encrypted. */
  readonly sealedToken: string;
}

/** A session. It is stored under the hash of its secret, so that a reader of the database cannot use the session. */
export type Session = PasswordSession | TokenSession | (OwnerByIssuer & Started);

export type PasswordSession = OwnerByPassword & Started;

export type TokenSession = OwnerByToken & Started;

/** A user, and an address from which the user has logged in. */
export interface Home {
  readonly user: string;
  readonly address: string;
}

interface Started {
  readonly startedMs: number;
}

export interface SessionsParts {
  readonly vault: Vault;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The sessions of people who logged in. */
export class Sessions {
  readonly #parts: SessionsParts;
  /** The sessions whose last use is being stored. */
  readonly #storing = new Set<string>();

  constructor(parts: SessionsParts) {
    this.#parts = parts;
  }

  /** Begins a session, and resolves with its secret, which is not stored. */
  async begin(session: SessionOwner, secret: string = newSecret()): Promise<string> {
    const { vault, clock } = this.#parts;
    const begun: Session = { ...session, startedMs: clock.now() };
    const own = this.#all().filter(({ session: { user } }) => user === session.user);
    own.sort((a, b) => a.session.startedMs - b.session.startedMs);
    for (const { hash } of own.slice(0, Math.max(0, own.length - maxPerUser + 1))) await this.#delete(hash);
    await vault.put(prefix + hashOf(secret), begun);
    return secret;
  }

  /**
   * Returns the session of a secret, from memory; undefined when there is none, or it has ended. Stores the time of
   * this use, at most once in five minutes.
   */
  find(secret: string): Session | undefined {
    if (!secretForm.test(secret)) return undefined;
    const hash = hashOf(secret);
    const session = readVault<Session>(this.#parts.vault, prefix + hash);
    if (session === undefined || this.#isOver(hash, session)) return undefined;
    this.#noteUse(hash, session);
    return session;
  }

  /** True while the session has not ended. */
  isOpen(secret: string): boolean {
    const hash = hashOf(secret);
    const session = readVault<Session>(this.#parts.vault, prefix + hash);
    return session !== undefined && !this.#isOver(hash, session);
  }

  /** Waits until the earlier changes of other replicas have arrived, then finds a session like {@link find}. */
  async findAnywhere(secret: string): Promise<Session | undefined> {
    if (!secretForm.test(secret)) return undefined;
    await this.#parts.vault.reach();
    return this.find(secret);
  }

  async end(secret: string): Promise<void> {
    await this.#delete(hashOf(secret));
  }

  /**
   * Returns the users of open sessions that began with a password, with the addresses from which they logged in, in the
   * order of the logins.
   */
  homes(): readonly Home[] {
    const open = this.#all().filter(({ hash, session }) => !this.#isOver(hash, session));
    open.sort((a, b) => a.session.startedMs - b.session.startedMs);
    return open.flatMap(({ session }) => homeOf(session) ?? []);
  }

  /**
   * Calls the listener for each session that begins with a password, on any replica. Returns a function that
   * unsubscribes.
   */
  onHome(listener: (home: Home) => void): () => void {
    return this.#parts.vault.onChange((name) => {
      if (!name.startsWith(prefix)) return;
      const session = readVault<Session>(this.#parts.vault, name);
      const home = session === undefined ? undefined : homeOf(session);
      if (home !== undefined) listener(home);
    });
  }

  /** Deletes sessions that have ended, and sessions for which `isVoid` returns true. */
  async sweep(isVoid: (session: Session) => boolean): Promise<void> {
    const { vault } = this.#parts;
    for (const { hash, session } of this.#all())
      if (isVoid(session) || this.#isOver(hash, session)) await this.#delete(hash);
    for (const key of vault.entries(usedPrefix).keys())
      if (vault.get(prefix + key.slice(usedPrefix.length)) === undefined) await vault.delete(key);
  }

  #all(): { readonly hash: string; readonly session: Session }[] {
    const entries = [...readVaultEntries<Session>(this.#parts.vault, prefix)];
    return entries.map(([key, value]) => ({ hash: key.slice(prefix.length), session: value }));
  }

  #isOver(hash: string, session: Session): boolean {
    const nowMs = this.#parts.clock.now();
    const { startedMs } = session;
    const maxMs = 'settingsId' in session ? maxIssuerSessionMs : maxSessionMs;
    return nowMs - startedMs >= maxMs || nowMs - this.#usedMs(hash, startedMs) >= idleMs;
  }

  #usedMs(hash: string, startedMs: number): number {
    const used = this.#parts.vault.get(usedPrefix + hash);
    return typeof used === 'number' ? used : startedMs;
  }

  /**
   * Stores the time of use in a separate entry, because a write of the session itself could restore a session that has
   * just ended.
   */
  #noteUse(hash: string, { startedMs }: Session): void {
    const { vault, clock, logger } = this.#parts;
    const nowMs = clock.now();
    if (nowMs - this.#usedMs(hash, startedMs) < storeUseMs || this.#storing.has(hash)) return;
    this.#storing.add(hash);
    vault
      .put(usedPrefix + hash, nowMs)
      .catch((err: unknown) => logger.warn({ err }, 'the last use of a session could not be stored'))
      .finally(() => this.#storing.delete(hash));
  }

  async #delete(hash: string): Promise<void> {
    await this.#parts.vault.delete(prefix + hash);
    await this.#parts.vault.delete(usedPrefix + hash);
  }
}

/** Returns 256 random bits as a text of 43 characters. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

function homeOf(session: Session): Home | undefined {
  if (!('password' in session) || session.address === undefined) return undefined;
  return { user: session.user, address: session.address };
}
