import { formatAge } from '@homeostat/controller-runtime/api';

/** Returns how long ago a time was, such as `5s`; '' if the time is undefined. */
export function ageOf(time: string | undefined, nowMs: number): string {
  return time === undefined ? '' : formatAge(Math.max(0, nowMs - Date.parse(time)));
}

/**
 * Returns how far in the future a time is, such as `in 5s`; `now` for a time that is past, or less than a second ahead;
 * '' if the time is undefined.
 */
export function untilTime(time: string | undefined, nowMs: number): string {
  if (time === undefined) return '';
  const waitMs = Date.parse(time) - nowMs;
  return waitMs < 1000 ? 'now' : `in ${formatAge(waitMs)}`;
}

/** Returns a duration with the unit that fits: `0.4ms`, `12ms`, `3.4s`, `2m10s`. */
export function durationText(ms: number): string {
  if (ms < 10) return `${Math.round(ms * 10) / 10}ms`;
  if (ms < 1000) return `${Math.round(ms)}ms`;
  return ms < 60_000 ? `${Math.round(ms / 100) / 10}s` : formatAge(ms);
}
