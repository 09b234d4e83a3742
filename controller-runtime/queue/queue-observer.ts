/** Hears of what a queue does, in its hot path: be quick, and do not throw. */
export interface QueueObserver {
  /** A key became ready. */
  added(): void;
  /** A ready key was handed out after so long. */
  taken(waitedMs: number): void;
  /** A key failed, and was put back. */
  retried(): void;
}
