import { hasCode } from '../text/error-text.ts';

/** Returns what an operator can do about an error of a start; undefined if its message says it. */
export function startCure(error: unknown): string | undefined {
  if (hasCode(error, 'EADDRINUSE')) return 'stop the other program, or choose another --port';
  if (hasCode(error, 'EACCES')) return 'run as a user who may do this, or choose another place';
  if (hasCode(error, 'EADDRNOTAVAIL')) return 'choose an address of this machine: --host';
  if (hasCode(error, 'locked')) return 'stop the other process, or choose another --database';
  if (hasCode(error, 'corrupt'))
    return 'check --database; if it names the right one, restore a backup: homeostat import';
  if (hasCode(error, 'newer')) return 'install the newest version of homeostat';
  if (hasCode(error, 'io')) return 'start the database, and check host, port and path of --database';
  return undefined;
}
