/** A part that lives as long as its manager: a server, a poller, a cleaner. */
export interface Runnable {
  /** Unique within a manager. */
  readonly name: string;
  /** Works until the signal aborts, and settles when all of it has stopped. A rejection is logged and ends this part alone. */
  run(signal: AbortSignal): Promise<void>;
}
