import type { Vault } from './vault.ts';

/**
 * Returns the value of a name; undefined when there is none. The caller must know the type of the value, because it has
 * stored it.
 */
export function readVault<T>(vault: Pick<Vault, 'get'>, name: string): T | undefined {
  return vault.get(name) as T | undefined;
}

/**
 * Returns all values whose names begin with the prefix. The caller must know the type of the values, because it has
 * stored them.
 */
export function readVaultEntries<T>(vault: Pick<Vault, 'entries'>, prefix: string): ReadonlyMap<string, T> {
  return vault.entries(prefix) as ReadonlyMap<string, T>;
}
