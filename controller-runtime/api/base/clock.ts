/** A timer that a Clock made; {@link Clock.clearTimeout} cancels it. */
export interface Timer {
  /** Lets the process end although the timer is pending. Has no effect on fake clocks. */
  unref?(): unknown;
}

/** A source of time, which is passed in so that tests can move it. All values are in milliseconds. */
export interface Clock {
  /** The wall clock: milliseconds since 1970 (UTC). */
  now(): number;
  /** The monotonic clock, which never jumps: use it for durations. */
  monotonicMs(): number;
  setTimeout(callback: () => void, delayMs: number): Timer;
  clearTimeout(timer: Timer | undefined): void;
}
