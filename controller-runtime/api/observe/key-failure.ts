import { formatAge } from '../base/format-age.ts';
import type { ControllerKey } from './controller-state.ts';

/** True for a key that is parked, or that has failed with an error and has not succeeded since. */
export function isFailing(key: ControllerKey | undefined): boolean {
  return key !== undefined && (key.state === 'parked' || (key.attempts > 0 && key.lastError !== undefined));
}

/** Returns a text such as ` for 5m (9 attempts): no luck`, followed by the time of the next attempt. */
export function failureOf(key: ControllerKey | undefined, nowMs: number): string {
  if (key === undefined) return '';
  const { attempts, failingSince, lastError, nextTime, state } = key;
  const since = failingSince === undefined ? '' : ` for ${formatAge(nowMs - Date.parse(failingSince))}`;
  const times = attempts === 0 ? '' : ` (${attempts} ${attempts === 1 ? 'attempt' : 'attempts'})`;
  const error = lastError === undefined ? '' : `: ${lastError}`;
  if (state === 'parked') return `${since}${times}${error}; next attempt: when the object changes`;
  if (state === 'processing') return `${since}${times}${error}; next attempt: now`;
  if (nextTime === undefined) return `${since}${times}${error}`;
  const waitMs = Date.parse(nextTime) - nowMs;
  const next = waitMs < 1000 ? 'next attempt: now' : `next attempt: in ${formatAge(waitMs)}`;
  return `${since}${times}${error}; ${next}`;
}
