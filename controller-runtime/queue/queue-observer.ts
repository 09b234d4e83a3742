/** Called on the queue's hot path: must be quick, and must not throw. */
export interface QueueObserver {
  /** A key became ready. */
  added(): void;
  /** A ready key was handed out after so long. */
  taken(waitedMs: number): void;
  /** A key failed, and was put back. */
  retried(): void;
}
