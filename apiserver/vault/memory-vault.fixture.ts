import type { Vault } from './vault.ts';

/** A vault in memory. Several servers of a test can share it, as replicas do. */
export class MemoryVault implements Vault {
  readonly #values = new Map<string, unknown>();
  readonly #listeners = new Set<(name: string) => void>();

  get(name: string): unknown {
    return this.#values.get(name);
  }

  entries(prefix: string): ReadonlyMap<string, unknown> {
    return new Map([...this.#values].filter(([name]) => name.startsWith(prefix)));
  }

  async put(
    name: string,
    value: unknown,
    { ifAbsent = false }: { readonly ifAbsent?: boolean } = {},
  ): Promise<boolean> {
    if (ifAbsent && this.#values.has(name)) return false;
    this.#values.set(name, structuredClone(value));
    this.#tell(name);
    return true;
  }

  async delete(name: string): Promise<void> {
    this.#values.delete(name);
    this.#tell(name);
  }

  onChange(listener: (name: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async reach(): Promise<void> {
    // All values are in memory immediately, so there is nothing to wait for.
  }

  #tell(name: string): void {
    for (const listener of this.#listeners) listener(name);
  }
}
