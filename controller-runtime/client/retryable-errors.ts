import { isAlreadyExists, isApiError, isConflict, isFormerLeader } from '../api/index.ts';

/**
 * True for failures after which a retry may succeed: no connection, a broken stream, 429, 5xx. False for all other
 * error responses, because the same request would fail again.
 */
export function isTransient(error: unknown): boolean {
  return !isApiError(error) || error.code === 429 || error.code >= 500;
}

/**
 * True when another writer was faster, so that a new read and a retry may succeed. False for the error of a former
 * leader, because its retry never succeeds.
 */
export function isLostRace(error: unknown): boolean {
  return isAlreadyExists(error) || (isConflict(error) && !isFormerLeader(error));
}
