import type { Vault } from '../vault/vault.ts';
import { TooManyLogins } from './login-throttle.ts';
import { dummyHash, hashPassword, verifyPassword } from './password-hash.ts';
import type { PasswordHash } from './password-hash.ts';
import { readVault, readVaultEntries } from '../vault/read-vault.ts';

const prefix = 'password/';
const minCharacters = 12;
const maxCharacters = 256;

/**
 * The maximum number of hashes that are computed at the same time. Each takes 32 MiB, and one of the four threads that
 * files and DNS also need.
 */
const maxHashing = 2;

/** The maximum number of requests that wait for a hash. Further requests are refused. */
const maxWaiting = 64;

interface StoredPassword {
  /** The user's uid, so that a new user of the same name does not have this password. */
  readonly uid: string;
  readonly hash: PasswordHash;
}

/** The user who has a password. */
export interface PasswordOwner {
  readonly name: string;
  readonly uid: string;
}

/**
 * Returns the reason why a password is not allowed; undefined when it is allowed. The text does not contain the
 * password.
 */
export function problemOfPassword(password: string): string | undefined {
  if (password.length < minCharacters || password.length > maxCharacters)
    return `must have ${minCharacters} to ${maxCharacters} characters`;
  if (/\p{Cc}/u.test(password)) return 'must have no control characters';
  return undefined;
}

/** The passwords of users: their hashes, in the vault. */
export class Passwords {
  readonly #vault: Vault;
  readonly #gate = new HashGate();

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  /**
   * Returns the id of the user's present password, which is the salt of its hash; undefined if the user has no
   * password.
   */
  idOf({ name, uid }: PasswordOwner): string | undefined {
    const stored = this.#find(name);
    return stored?.uid === uid ? stored.hash.salt : undefined;
  }

  async set({ name, uid }: PasswordOwner, password: string): Promise<void> {
    const hash = await this.#gate.run(async () => hashPassword(password));
    const stored: StoredPassword = { uid, hash };
    await this.#vault.put(prefix + name, stored);
  }

  /**
   * Resolves with the result of {@link idOf} if the password is correct; otherwise with undefined. It takes the same
   * time when the user does not exist, or has no password.
   */
  async check(owner: PasswordOwner | undefined, password: string): Promise<string | undefined> {
    const stored = owner === undefined ? undefined : this.#find(owner.name);
    const known = stored?.uid === owner?.uid ? stored : undefined;
    const isRight = await this.#gate.run(async () => verifyPassword(password, known?.hash ?? dummyHash));
    return isRight ? known?.hash.salt : undefined;
  }

  /** The names and uids of all users who have a password. */
  owners(): readonly PasswordOwner[] {
    return [...readVaultEntries<StoredPassword>(this.#vault, prefix)].map(([key, value]) => ({
      name: key.slice(prefix.length),
      uid: value.uid,
    }));
  }

  async delete(name: string): Promise<void> {
    await this.#vault.delete(prefix + name);
  }

  #find(name: string): StoredPassword | undefined {
    return readVault<StoredPassword>(this.#vault, prefix + name);
  }
}

/** Limits how many hashes are computed at the same time. Further requests wait, and proceed in order of arrival. */
class HashGate {
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /**
   * Calls `work` once fewer than {@link maxHashing} hashes are being computed. Calls that wait proceed in their order.
   * @throws TooManyLogins when too many requests wait
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= maxHashing) {
      if (this.#waiting.length >= maxWaiting) throw new TooManyLogins(1);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      // If a call waits, it starts now, and the number of running calls stays the same.
      else next();
    }
  }
}
