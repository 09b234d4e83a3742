/** An observer of a queue. The queue's hot path calls its methods: they must be quick, and must not throw. */
export interface QueueObserver {
  /** Called when a key became ready. */
  added(): void;
  /** Called when `get` returns a key, with the time for which it was ready. */
  taken(waitedMs: number): void;
  /** Called when a key failed, and was put back. */
  retried(): void;
}
