import type { Vault } from './vault.ts';

/**
 * Returns the value of a name, in the form in which the caller's part of the server stores it; undefined when there is
 * none.
 */
export function readVault<T>(vault: Pick<Vault, 'get'>, name: string): T | undefined {
  return vault.get(name) as T | undefined;
}

/**
 * Returns all values whose names begin with the prefix, in the form in which the caller's part of the server stores
 * them.
 */
export function readVaultEntries<T>(vault: Pick<Vault, 'entries'>, prefix: string): ReadonlyMap<string, T> {
  return vault.entries(prefix) as ReadonlyMap<string, T>;
}
