/** An observer of a queue. The queue calls its methods for every key, so they must be quick, and must not throw. */
export interface QueueObserver {
  /** Called when a key becomes ready. */
  added(): void;
  /** Called when `get` returns a key, with the time for which it was ready. */
  taken(waitedMs: number): void;
  /** Called for each `addRateLimited`, also when the key is then parked. */
  retried(): void;
}
