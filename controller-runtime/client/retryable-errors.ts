import { isAlreadyExists, isApiError, isConflict, isFormerLeader } from '../api/index.ts';

/**
 * True for failures that time may heal: no connection, a broken stream, 429, 5xx. Errors that the request itself
 * causes (400, 401, 403, 404, 410) are not among them.
 */
export function isTransient(error: unknown): boolean {
  return !isApiError(error) || error.code === 429 || error.code >= 500;
}

/**
 * True when another writer was faster: reading the object again and retrying may succeed. For a former leader it never
 * does.
 */
export function isLostRace(error: unknown): boolean {
  return isAlreadyExists(error) || (isConflict(error) && !isFormerLeader(error));
}
