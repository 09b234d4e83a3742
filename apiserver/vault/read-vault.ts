import type { Vault } from './vault.ts';

/**
 * Returns the value of a name; undefined when there is none. The type is not checked: the caller must have stored a
 * value of this type.
 */
export function readVault<T>(vault: Pick<Vault, 'get'>, name: string): T | undefined {
  return vault.get(name) as T | undefined;
}

/**
 * Returns all values whose names begin with the prefix. The type is not checked: the caller must have stored values of
 * this type.
 */
export function readVaultEntries<T>(vault: Pick<Vault, 'entries'>, prefix: string): ReadonlyMap<string, T> {
  return vault.entries(prefix) as ReadonlyMap<string, T>;
}
