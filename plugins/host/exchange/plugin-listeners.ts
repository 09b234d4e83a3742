import type { Logger } from '@homeostat/controller-runtime/api';

export interface PluginListenersParts {
  /** The logger of the plugin that listens. */
  readonly logger: Logger;
  /** The message that is logged when a listener fails. */
  readonly message: string;
  /** Further fields of the log line about the failure. */
  readonly fields?: object;
}

/** The listeners of one plugin for the values of one source. Their errors do not reach the source. */
export class PluginListeners<T> {
  readonly #parts: PluginListenersParts;
  readonly #listeners = new Set<(value: T) => void>();
  #isClosed = false;

  constructor(parts: PluginListenersParts) {
    this.#parts = parts;
  }

  /** Adds a listener, and returns the function that removes it. Throws after `close`. */
  add(listener: (value: T) => unknown): () => void {
    if (this.#isClosed) throw new Error('the plugin is being stopped');
    // Each call adds a new function, even if the same listener is added twice.
    const own = contained(listener, this.#parts);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  /** Calls all listeners, in the order in which they were added, without waiting for them. */
  call(value: T): void {
    // The loop runs over a copy: a loop over the set itself would also call listeners that are added during the loop.
    const present = [...this.#listeners];
    for (const listener of present) if (this.#listeners.has(listener)) listener(value);
  }

  /** Removes all listeners. */
  close(): void {
    this.#isClosed = true;
    this.#listeners.clear();
  }
}

/**
 * Wraps a listener: an error that it throws, and the rejection of a promise that it returns, are logged. The promise is
 * not awaited.
 */
export function contained<T>(
  listener: (value: T) => unknown,
  { logger, message, fields }: PluginListenersParts,
): (value: T) => void {
  return (value) => {
    (async () => listener(value))().catch((err: unknown) => logger.error({ err, ...fields }, message));
  };
}
