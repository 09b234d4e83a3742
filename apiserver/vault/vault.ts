/**
 * The secrets of the server itself: signing keys, hashes of passwords, and sessions. They are encrypted in the
 * database, and all replicas share them. No path of the API serves them.
 */
export interface Vault {
  /** Returns the value from memory; undefined when there is none. */
  get(name: string): unknown;
  /** Returns a map from name to value of all values whose names begin with the prefix. */
  entries(prefix: string): ReadonlyMap<string, unknown>;
  /**
   * Stores a JSON value of at most 64 KiB. Names have 1 to 200 characters of `a-z`, `0-9`, `.`, `/` and `-`. Resolves
   * once the value is durable. With `ifAbsent`, resolves with false, and stores nothing, when there already is a value.
   */
  put(name: string, value: unknown, options?: { readonly ifAbsent?: boolean }): Promise<boolean>;
  delete(name: string): Promise<void>;
  /**
   * Calls the listener with the name of a value after each change by any replica. Returns a function that removes the
   * listener.
   */
  onChange(listener: (name: string) => void): () => void;
  /** Resolves when memory has every write that any replica acknowledged before the call. */
  reach(): Promise<void>;
}
