/** A timer that a Clock made; {@link Clock.clearTimeout} cancels it. */
export interface Timer {
  /** Do not keep the process alive for this timer. No effect on fake clocks. */
  unref?(): unknown;
}

/** A source of time, which is passed in so that tests can move it. All values are in milliseconds. */
export interface Clock {
  /** Wall clock, milliseconds since 1970 (UTC). */
  now(): number;
  /** Monotonic, for durations; never jumps. */
  monotonicMs(): number;
  setTimeout(callback: () => void, delayMs: number): Timer;
  clearTimeout(timer: Timer | undefined): void;
}
