/** The console's only source of time, so that tests can pass a clock of their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls `run` once, after this time. Returns a function that cancels the call. */
  after(ms: number, run: () => void): () => void;
}

/** The clock of the browser. */
export const browserClock: Clock = {
  now: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Resolves after a time, or as soon as the signal aborts. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    return signal.addEventListener('abort', done);
  });
}

const units: readonly (readonly [seconds: number, name: string])[] = [
  [86_400 * 365, 'y'],
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'm'],
  [1, 's'],
];

/**
 * Returns an age as a whole number of its largest unit, such as `3m`, `2h` or `5d`; `now` for less than half a second.
 * The age of a time in the future starts with "in".
 */
export function formatAge(timeMs: number, nowMs: number): string {
  const seconds = Math.round((nowMs - timeMs) / 1000);
  const length = Math.abs(seconds);
  if (length < 1) return 'now';
  const [size, name] = units.find(([each]) => length >= each) ?? [1, 's'];
  const text = `${Math.floor(length / size)}${name}`;
  return seconds < 0 ? `in ${text}` : text;
}

/** Returns the age of a moment as a part of a sentence: `3m ago`, `in 2h`, `just now`. */
export function formatMoment(timeMs: number, nowMs: number): string {
  const age = formatAge(timeMs, nowMs);
  if (age === 'now') return 'just now';
  return age.startsWith('in ') ? age : `${age} ago`;
}

/** Returns a duration with its unit, such as `120 ms`, `1.5 s` or `3 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.round(ms / 60_000)} min`;
}
