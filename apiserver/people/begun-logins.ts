import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '@homeostat/controller-runtime/api';
import { base64url, EncryptJWT, jwtDecrypt } from 'jose';
import type { LoginSecrets } from '../identity/login-provider.ts';
import type { Vault } from '../vault/vault.ts';
import { readVault, readVaultEntries } from '../vault/read-vault.ts';

const keyName = 'login/key';
const usedPrefix = 'login-used/';

/** How long a login may take: long enough to type a password and a second factor. */
export const maxLoginMs: number = 10 * 60_000;

/** A login that has begun at an issuer. The browser keeps it, encrypted, until the person comes back. */
export interface KeptLogin {
  /** The name of the provider. */
  readonly provider: string;
  readonly redirectUri: string;
  /** The path that the person wanted. */
  readonly next: string;
  readonly secrets: LoginSecrets;
}

/**
 * Logins that wait for a person to come back from an issuer. Each is in a cookie of the browser that began it, encrypted by a
 * key that replicas share, so that logins that are never finished cost nothing. The database notes those that are used.
 */
export class BegunLogins {
  readonly #vault: Vault;
  readonly #clock: Clock;

  constructor(vault: Vault, clock: Clock) {
    this.#vault = vault;
    this.#clock = clock;
  }

  async seal(login: KeptLogin): Promise<string> {
    const nowMs = this.#clock.now();
    return new EncryptJWT({ login })
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .setExpirationTime(new Date(nowMs + maxLoginMs))
      .encrypt(await this.#key());
  }

  /** Resolves with undefined for what this server has not sealed, and for what is too old. */
  async open(sealed: string): Promise<KeptLogin | undefined> {
    const key = await this.#key();
    try {
      const options = { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] };
      const currentDate = new Date(this.#clock.now());
      const { payload } = await jwtDecrypt(sealed, key, { ...options, currentDate, requiredClaims: ['exp'] });
      return payload['login'] as KeptLogin;
    } catch {
      return undefined;
    }
  }

  /** Resolves with true for the first call with these secrets, at whichever replica. */
  async use({ state }: LoginSecrets): Promise<boolean> {
    const name = usedPrefix + createHash('sha256').update(state).digest('hex');
    return this.#vault.put(name, this.#clock.now(), { ifAbsent: true });
  }

  /** Forgets the used logins that are too old to be opened. */
  async sweep(): Promise<void> {
    const nowMs = this.#clock.now();
    for (const [name, usedMs] of readVaultEntries<number>(this.#vault, usedPrefix))
      // Twice the time, since the clocks of replicas differ.
      if (nowMs - usedMs >= 2 * maxLoginMs) await this.#vault.delete(name);
  }

  async #key(): Promise<Uint8Array> {
    const known = readVault<string>(this.#vault, keyName) ?? (await this.#makeKey());
    return base64url.decode(known);
  }

  async #makeKey(): Promise<string> {
    await this.#vault.put(keyName, randomBytes(32).toString('base64url'), { ifAbsent: true });
    await this.#vault.reach();
    const key = readVault<string>(this.#vault, keyName);
    if (key === undefined) throw new Error('the vault has lost the key of logins');
    return key;
  }
}
