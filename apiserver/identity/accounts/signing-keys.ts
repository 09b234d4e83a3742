import { createPrivateKey, createPublicKey, generateKeyPair } from 'node:crypto';
import type { JsonWebKey, KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { Clock } from '@homeostat/controller-runtime/api';
import { calculateJwkThumbprint } from 'jose';
import type { Vault } from '../../vault/vault.ts';
import { maxBoundSeconds } from './token-lifetime.ts';
import { readVaultEntries } from '../../vault/read-vault.ts';

/**
 * The prefix of the keys' names in the vault. A number follows it, so that only one of two replicas can create the next
 * key.
 */
const prefix = 'service-account-keys/';

const dayMs = 86_400_000;

/** The time for which a key signs tokens. After this time, the next key is created. */
export const rotationMs: number = 30 * dayMs;

/** The minimum time between two queries of the database for keys that are not in memory. */
const pauseMs = 1000;

/** A key that signs tokens of service accounts. */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly createdMs: number;
}

/** The stored form of a key in the vault. */
interface StoredKey {
  readonly kid: string;
  readonly key: JsonWebKey;
  readonly createdMs: number;
}

interface NumberedKey extends SigningKey {
  readonly number: number;
}

export interface SigningKeysParts {
  readonly vault: Vault;
  readonly clock: Clock;
}

/**
 * The keys (EC P-256) with which the replicas of a server sign tokens of service accounts. The replicas share them in
 * the vault.
 */
export class SigningKeys {
  readonly #parts: SigningKeysParts;
  #keys: readonly NumberedKey[] | undefined;
  #making: Promise<void> | undefined;
  #reaching: Promise<void> | undefined;
  #reachedMs = Number.NEGATIVE_INFINITY;

  /** Creates no key yet. The keys in memory follow those in the vault until the vault is closed. */
  constructor(parts: SigningKeysParts) {
    this.#parts = parts;
    parts.vault.onChange((name) => {
      if (name.startsWith(prefix)) this.#keys = undefined;
    });
  }

  /**
   * Returns the key that signs now. Creates the first key, and a new key when the current one has signed for {@link
   * rotationMs}.
   */
  async current(): Promise<SigningKey> {
    if (this.#isDue()) {
      this.#making ??= this.#make().finally(() => (this.#making = undefined));
      await this.#making;
    }
    const current = this.#all().at(-1);
    if (current === undefined) throw new Error('the vault does not return the signing key that it has stored');
    return current;
  }

  /**
   * Returns the key with an id. If it is not in memory, looks for it in the database, because another replica may just
   * have created it.
   */
  async find(kid: string): Promise<SigningKey | undefined> {
    const known = this.#ofId(kid);
    if (known !== undefined) return known;
    await this.#reach();
    return this.#ofId(kid);
  }

  /** Queries the database for keys, at most once in {@link pauseMs}, since clients can invent key ids. */
  async #reach(): Promise<void> {
    const { vault, clock } = this.#parts;
    if (this.#reaching === undefined) {
      if (clock.now() < this.#reachedMs + pauseMs) return;
      this.#reachedMs = clock.now();
      this.#reaching = vault.reach().finally(() => (this.#reaching = undefined));
    }
    await this.#reaching;
  }

  /** True while the key with this id is known. Tokens that it signed may then still be valid. */
  has(kid: string): boolean {
    return this.#ofId(kid) !== undefined;
  }

  /** Returns all keys whose tokens may still be valid. The last item is the key that signs now. */
  all(): readonly SigningKey[] {
    return this.#all();
  }

  /** Deletes all keys, for example after a leak. All tokens become invalid. */
  async deleteAll(): Promise<void> {
    const { vault } = this.#parts;
    await vault.reach();
    for (const { number } of this.#all()) await vault.delete(nameOf(number));
  }

  #ofId(kid: string): SigningKey | undefined {
    return this.#all().find((key) => key.kid === kid);
  }

  #isDue(): boolean {
    const latest = this.#all().at(-1);
    return latest === undefined || latest.createdMs + rotationMs <= this.#parts.clock.now();
  }

  async #make(): Promise<void> {
    const { vault, clock } = this.#parts;
    // Reads the latest state of the vault, because another replica may already have created the next key.
    await vault.reach();
    if (!this.#isDue()) return;
    const number = (this.#all().at(-1)?.number ?? 0) + 1;
    await vault.put(nameOf(number), await generateKey(clock.now()), { ifAbsent: true });
    await vault.reach();
    await this.#deleteOld();
  }

  /** Deletes the keys whose last token has expired. It is called after the creation of a key. */
  async #deleteOld(): Promise<void> {
    const keys = this.#all();
    for (const [index, { number }] of keys.entries()) {
      const next = keys[index + 1];
      if (next === undefined || next.createdMs + maxBoundSeconds * 1000 > this.#parts.clock.now()) return;
      await this.#parts.vault.delete(nameOf(number));
    }
  }

  #all(): readonly NumberedKey[] {
    this.#keys ??= [...readVaultEntries<StoredKey>(this.#parts.vault, prefix)]
      .map(([name, value]) => keyOf(Number(name.slice(prefix.length)), value))
      .sort((a, b) => a.number - b.number);
    return this.#keys;
  }
}

async function generateKey(createdMs: number): Promise<StoredKey> {
  const { privateKey, publicKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
  const kid = await calculateJwkThumbprint(publicKey);
  return { kid, key: privateKey.export({ format: 'jwk' }), createdMs };
}

function keyOf(number: number, { kid, key, createdMs }: StoredKey): NumberedKey {
  const privateKey = createPrivateKey({ key, format: 'jwk' });
  return { number, kid, createdMs, privateKey, publicKey: createPublicKey(privateKey) };
}

function nameOf(number: number): string {
  return `${prefix}${String(number).padStart(8, '0')}`;
}
