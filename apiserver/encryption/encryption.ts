import type { StoredKind } from '../store/object-key.ts';
import { vaultKind } from '../vault/vault-kind.ts';
import { isSealed, seal, sealingKeyOf, unseal } from './sealed-bytes.ts';
import type { EncryptionKey } from './sealed-bytes.ts';

/** One way to store bytes: encrypted with a key, or in plain text. */
export type Provider = { readonly key: EncryptionKey } | { readonly key: undefined };

/**
 * The providers for the objects of some kinds. Writes use the first provider. Reads use the keys of all entries; they
 * accept plain text only if a provider of this entry has no key.
 */
export interface EncryptionEntry {
  /** The kinds: `secrets`, `persons.people.example.com`, `*.<group>`, `*.` for the core group, or `*.*`. */
  readonly resources: readonly string[];
  readonly providers: readonly Provider[];
}

/** The key that encrypts the objects of one kind, if any, and whether the server also reads plain text. */
export interface KindEncryption {
  /** The key that encrypts written objects; undefined when they are stored in plain text. */
  readonly key: EncryptionKey | undefined;
  /** True when objects that are stored in plain text can be read. */
  readonly readsPlain: boolean;
}

/** The decrypted bytes, or the reason why they cannot be decrypted. */
export type Unsealed = { readonly data: Uint8Array } | { readonly data?: undefined; readonly problem: string };

const plainText: KindEncryption = { key: undefined, readsPlain: true };

/**
 * Determines which kinds are encrypted, and with which keys. The vault is always encrypted: with the key of the first
 * provider of the entry that names the vault, or else with the first key of the configuration.
 */
export class Encryption {
  readonly #entries: readonly EncryptionEntry[];
  readonly #keys: ReadonlyMap<string, EncryptionKey>;
  readonly #vault: KindEncryption;

  /** Creates the encryption of a configuration. @throws Error when no provider has a key. */
  constructor(entries: readonly EncryptionEntry[]) {
    this.#entries = entries;
    const keys = entries.flatMap(({ providers }) => providers.flatMap(({ key }) => key ?? []));
    this.#keys = new Map(keys.map((key) => [key.name, key]));
    const named = entries.find(({ resources }) => resources.includes(`${vaultKind.plural}.${vaultKind.group}`));
    const key = named?.providers[0]?.key ?? keys[0];
    if (key === undefined)
      throw new Error('needs a key in at least one provider, because the server always encrypts its own secrets');
    this.#vault = { key, readsPlain: false };
  }

  /** The names of the keys that encrypt written objects. */
  get writingKeys(): readonly string[] {
    const first = this.#entries.flatMap(({ providers }) => providers[0]?.key?.name ?? []);
    return [...new Set([...first, ...(this.#vault.key === undefined ? [] : [this.#vault.key.name])])];
  }

  hasKey(name: string): boolean {
    return this.#keys.has(name);
  }

  /**
   * Returns the encryption of a kind, from the first entry that names the kind. The objects of a kind that no entry
   * names are stored in plain text. The vault is always encrypted.
   */
  of(kind: StoredKind): KindEncryption {
    if (kind.group === vaultKind.group && kind.plural === vaultKind.plural) return this.#vault;
    const entry = this.#entries.find(({ resources }) => resources.some((resource) => isNamed(kind, resource)));
    if (entry === undefined) return plainText;
    const [first] = entry.providers;
    return { key: first?.key, readsPlain: entry.providers.some(({ key }) => key === undefined) };
  }

  /**
   * True when the data is not stored as {@link seal} would store it now: it is encrypted with another key, or it is in
   * plain text and should be encrypted, or it is encrypted and should be in plain text.
   */
  isOutdated({ key }: KindEncryption, data: Uint8Array): boolean {
    return isSealed(data) ? sealingKeyOf(data) !== key?.name : key !== undefined;
  }

  /** Returns the bytes to store. Bytes that are already encrypted come from an import, and remain unchanged. */
  seal({ key }: KindEncryption, place: string, data: Uint8Array): Uint8Array {
    return key === undefined || isSealed(data) ? data : seal(key, place, data);
  }

  /**
   * Decrypts bytes that {@link seal} encrypted with any of the keys, and returns plain text unchanged. Returns the
   * reason if the bytes cannot be decrypted, or if they are in plain text and `readsPlain` is false.
   */
  unseal({ readsPlain }: KindEncryption, place: string, data: Uint8Array): Unsealed {
    if (!isSealed(data)) {
      if (readsPlain) return { data };
      return {
        problem: 'the stored bytes are in plain text, but the encryption configuration lacks the provider "identity"',
      };
    }
    const name = sealingKeyOf(data);
    if (name === undefined)
      return { problem: 'the stored bytes are encrypted by a provider that this server does not know' };
    const key = this.#keys.get(name);
    if (key === undefined)
      return { problem: `the stored bytes are encrypted with key "${name}", which this server does not have` };
    const plain = unseal(key, place, data);
    if (plain !== undefined) return { data: plain };
    const problem = `the stored bytes cannot be decrypted with key "${name}": the key has another secret, or the bytes were changed or moved`;
    return { problem };
  }
}

function isNamed({ group, plural }: StoredKind, resource: string): boolean {
  const dot = resource.indexOf('.');
  const [name, wanted] = dot < 0 ? [resource, ''] : [resource.slice(0, dot), resource.slice(dot + 1)];
  return (name === '*' || name === plural) && (wanted === '*' || wanted === group);
}
