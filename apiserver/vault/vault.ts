/**
 * The secrets of the server itself: signing keys, hashes of passwords, sessions. They are stored in the database, encrypted,
 * and shared by its replicas. No path of the API serves them.
 */
export interface Vault {
  /** Returns the value from memory; undefined when there is none. */
  get(name: string): unknown;
  /** Returns all values whose names begin with the prefix, by name. */
  entries(prefix: string): ReadonlyMap<string, unknown>;
  /**
   * Stores a JSON value of at most 64 KiB. Names have 1 to 200 characters of `a-z`, `0-9`, `.`, `/` and `-`. Resolves once the
   * value is durable; with `ifAbsent`, returns false when there is one already.
   */
  put(name: string, value: unknown, options?: { readonly ifAbsent?: boolean }): Promise<boolean>;
  delete(name: string): Promise<void>;
  /** Calls the listener after each change, by any replica; returns a function that removes it. */
  onChange(listener: (name: string) => void): () => void;
  /** Resolves when memory has every write that any replica acknowledged before the call. */
  reach(): Promise<void>;
}
