import { isAlreadyExists, isConflict, isFormerLeader } from '../api/index.ts';

/** Somebody else was faster: reading anew and trying again may succeed, as it never does for a former leader. */
export function isLostRace(error: unknown): boolean {
  return isAlreadyExists(error) || (isConflict(error) && !isFormerLeader(error));
}
