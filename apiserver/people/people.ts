import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import type { UserObject } from '../builtin/user-kind.ts';
import type { LoginProvider } from '../identity/login-provider.ts';
import { authenticated, mastersGroup } from '../identity/user-info.ts';
import type { UserInfo } from '../identity/user-info.ts';
import type { Entry } from '../index/entry.ts';
import type { FeedChange } from '../index/feed-change.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import { PeriodicTask } from '../base/periodic-task.ts';
import { decodeObject } from '../registry/object/object-codec.ts';
import type { Vault } from '../vault/vault.ts';
import { IssuerLogins } from './issuer-logins.ts';
import { forgetMs, LoginThrottle } from './login-throttle.ts';
import { Passwords } from './passwords.ts';
import type { PasswordOwner } from './passwords.ts';
import { Sessions } from './sessions.ts';
import type { Home, PasswordSession, Session, TokenSession } from './sessions.ts';
import { SharedFailures } from './shared-failures.ts';
import { TokenLogins } from './token-logins.ts';
import type { TokenLoginsParts } from './token-logins.ts';

/** The interval at which ended sessions, and passwords of deleted users, are deleted. */
const sweepMs = 60_000;

export interface PeopleParts extends Pick<TokenLoginsParts, 'ofToken'> {
  /** Returns the kind User; undefined while it is not served. */
  readonly users: () => Resource | undefined;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The external issuers at which people log in with a browser. */
  readonly providers: () => readonly LoginProvider[];
}

/** The data of a login with a password. */
export interface Login {
  readonly user: string;
  readonly password: string;
  /** The client's address, or the block of addresses that counts as one client. */
  readonly address: string;
}

/** A stored user, reduced to the fields that logins and sessions need. */
interface Person extends PasswordOwner {
  readonly isEnabled: boolean;
  readonly info: UserInfo;
}

/**
 * The people who log in. Their passwords and sessions are in the vault. People with a password have an object of the
 * kind User.
 */
export class People {
  readonly #parts: PeopleParts;
  readonly #passwords: Passwords;
  readonly #sessions: Sessions;
  readonly #failures: SharedFailures;
  readonly #throttle: LoginThrottle;
  /** The logins at external issuers. The users who log in there have no User object. */
  readonly issuers: IssuerLogins;
  /** Logins with bearer tokens. */
  readonly tokens: TokenLogins;
  readonly #sweeps: PeriodicTask;
  readonly #persons = new WeakMap<Entry, Person>();
  readonly #unfollow: (() => void)[] = [];
  /** The names of users who were just disabled, and whose sessions are not deleted yet. */
  #disabled = new Set<string>();
  /** The running deletion of the sessions of disabled users. */
  #ending: Promise<void> | undefined;
  /** At the last check, no user had these uids, but the vault had a password for each of them. */
  #absent = new Set<string>();

  constructor(parts: PeopleParts) {
    this.#parts = parts;
    this.#passwords = new Passwords(parts.vault);
    this.#sessions = new Sessions(parts);
    this.#failures = new SharedFailures({ ...parts, forgetMs });
    this.#throttle = new LoginThrottle(parts.clock, this.#failures);
    const logins = { ...parts, sessions: this.#sessions, throttle: this.#throttle };
    this.issuers = new IssuerLogins(logins);
    this.tokens = new TokenLogins(logins);
    this.#sweeps = new PeriodicTask({ clock: parts.clock, intervalMs: sweepMs, run: () => this.#sweepAll() });
  }

  /**
   * Resolves with the secret of a new session; undefined when the password is wrong, or no enabled user has this name.
   * @throws TooManyLogins
   */
  async logIn({ user, password, address }: Login): Promise<string | undefined> {
    const attempt = { account: user, address };
    this.#throttle.begin(attempt);
    // This wait ends when memory has every earlier write. Otherwise, memory could lack a user or a password that
    // another replica has just stored.
    await this.#parts.vault.reach();
    const found = this.#find(user);
    const person = found?.isEnabled === true ? found : undefined;
    const id = await this.#passwords.check(person, password);
    if (person === undefined || id === undefined) return undefined;
    // The check of the password may have waited for other checks. Meanwhile, the user may have been disabled or
    // deleted.
    const latest = this.#find(user);
    if (latest?.isEnabled !== true || latest.uid !== person.uid) return undefined;
    this.#throttle.succeed(attempt);
    return this.#sessions.begin({ user: person.name, uid: person.uid, password: id, address });
  }

  /**
   * Returns the user of a session; undefined when there is no such session, or it has ended, or its user may no longer
   * use it.
   */
  ofSession(secret: string): UserInfo | undefined | Promise<UserInfo | undefined> {
    const user = this.#known(secret);
    if (user === undefined) return this.#ofLatestSession(secret);
    if (user instanceof Promise || !user.groups.includes(mastersGroup)) return user;
    // Another replica may have ended this session. Requests of most users wait for the writes of all replicas before
    // the check of permissions. Requests of members of `system:masters` do not, so this code waits for these writes.
    return this.#parts.vault.reach().then(
      () => this.#known(secret),
      () => user,
    );
  }

  async #ofLatestSession(secret: string): Promise<UserInfo | undefined> {
    const session = await this.#sessions.findAnywhere(secret);
    return session === undefined ? undefined : this.#userOf(secret, session);
  }

  /** Returns the user of a session, if the session is in memory. */
  #known(secret: string): UserInfo | undefined | Promise<UserInfo | undefined> {
    const session = this.#sessions.find(secret);
    return session === undefined ? undefined : this.#userOf(secret, session);
  }

  async logOut(secret: string): Promise<void> {
    await this.#sessions.end(secret);
  }

  /** Sets the password of a user, and ends the user's sessions that began with a password. */
  async setPassword(owner: PasswordOwner, password: string): Promise<void> {
    await this.#passwords.set(owner, password);
    await this.#sessions.sweep((session) => 'password' in session && session.user === owner.name);
  }

  start(): void {
    const remember = ({ user, address }: Home): void => this.#throttle.remember(user, address);
    for (const home of this.#sessions.homes()) remember(home);
    this.#unfollow.push(this.#sessions.onHome(remember));
    const users = this.#parts.users()?.feed;
    if (users !== undefined) this.#unfollow.push(users.subscribe((change) => this.#onUser(change)));
    this.#sweeps.start();
  }

  async stop(): Promise<void> {
    for (const unfollow of this.#unfollow.splice(0)) unfollow();
    this.#failures.stop();
    await Promise.all([this.#sweeps.stop(), this.#ending]);
  }

  /** Deletes the sessions of a disabled user at once, because the user may be enabled again before the next sweep. */
  #onUser({ type, entry, previous }: FeedChange): void {
    if (type !== 'MODIFIED' || personOf(entry).isEnabled || !personOf(previous).isEnabled) return;
    this.#disabled.add(entry.name);
    void this.#endSessions();
  }

  /** Deletes the sessions of users who were just disabled. After a failure, the next sweep tries again. */
  #endSessions(): Promise<void> {
    return (this.#ending ??= this.#endAllSessions().finally(() => (this.#ending = undefined)));
  }

  async #endAllSessions(): Promise<void> {
    while (this.#disabled.size > 0) {
      const names = this.#disabled;
      this.#disabled = new Set();
      try {
        await this.#sessions.sweep((session) => 'password' in session && names.has(session.user));
      } catch (err) {
        for (const name of names) this.#disabled.add(name);
        this.#parts.logger.warn(
          { err },
          'the sessions of a disabled user could not be deleted; trying again in a minute',
        );
        return;
      }
    }
  }

  #userOf(secret: string, session: Session): UserInfo | undefined | Promise<UserInfo | undefined> {
    if ('sealedToken' in session) return this.#ofTokenSession(secret, session);
    const info = this.#infoOf(session);
    if (info === undefined) return undefined;
    const isValid = (): boolean => this.#sessions.isOpen(secret) && this.#infoOf(session) === info;
    return { ...info, isValid };
  }

  async #ofTokenSession(secret: string, session: TokenSession): Promise<UserInfo | undefined> {
    const info = await this.tokens.userOf(secret, session);
    if (info === undefined) return undefined;
    return { ...info, isValid: () => this.#sessions.isOpen(secret) && info.isValid?.() !== false };
  }

  #infoOf(session: Exclude<Session, TokenSession>): UserInfo | undefined {
    if (!('settingsId' in session)) return this.#ownerOf(session)?.info;
    return this.issuers.isInUse(session.settingsId) ? session.info : undefined;
  }

  /** Returns the user of a session, if the user is still the same object, is enabled, and has the same password. */
  #ownerOf(session: PasswordSession): Person | undefined {
    const person = this.#find(session.user);
    if (person?.isEnabled !== true || person.uid !== session.uid) return undefined;
    return this.#passwords.idOf(person) === session.password ? person : undefined;
  }

  #find(name: string): Person | undefined {
    const entry = this.#parts.users()?.cache.get(name);
    if (entry === undefined) return undefined;
    const known = this.#persons.get(entry);
    if (known !== undefined) return known;
    const person = personOf(entry);
    this.#persons.set(entry, person);
    return person;
  }

  async #sweepAll(): Promise<void> {
    try {
      if (this.#parts.users() !== undefined) {
        await this.#endSessions();
        await this.#sessions.sweep((session) => !('sealedToken' in session) && this.#infoOf(session) === undefined);
        await this.issuers.sweep();
        await this.#deleteOrphans();
      }
    } catch (err) {
      this.#parts.logger.warn({ err }, 'ended sessions could not be deleted; trying again in a minute');
    }
  }

  /**
   * Deletes passwords whose users were absent at two checks in a row, because a replica may receive a new user later
   * than the password.
   */
  async #deleteOrphans(): Promise<void> {
    const before = this.#absent;
    this.#absent = new Set();
    for (const { name, uid } of this.#passwords.owners()) {
      if (this.#find(name)?.uid === uid) continue;
      if (before.has(uid)) await this.#passwords.delete(name);
      else this.#absent.add(uid);
    }
  }
}

function personOf(entry: Entry): Person {
  const { name, uid = '', deletion } = entry;
  const { spec = {} } = decodeObject<UserObject>(entry.bytes);
  const { groups = [], disabled = false } = spec;
  const isEnabled = !disabled && deletion === undefined;
  return { name, uid, isEnabled, info: authenticated({ username: name, uid, groups }) };
}
