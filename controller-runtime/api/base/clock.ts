/** A timer from {@link Clock.setTimeout}. {@link Clock.clearTimeout} cancels it. */
export interface Timer {
  /** Lets the process end although the timer is still pending. The timers of fake clocks do not have this method. */
  unref?(): unknown;
}

/**
 * A source of time. Code gets it as a parameter, so that tests can replace it and move its time. All values are in
 * milliseconds.
 */
export interface Clock {
  /** Returns the time of the wall clock, in milliseconds since 1970 (UTC). */
  now(): number;
  /** Returns the time of the monotonic clock, which never jumps. Use it to measure durations. */
  monotonicMs(): number;
  setTimeout(callback: () => void, delayMs: number): Timer;
  clearTimeout(timer: Timer | undefined): void;
}
