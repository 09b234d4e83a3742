import { errorText, hasCode } from '../text/error-text.ts';
import { stderr } from '../text/line-output.ts';
import type { ServeLog } from './create-logger.ts';

/** Returns advice for an error that prevents the start; undefined when the message of the error is enough. */
export function startCure(error: unknown): string | undefined {
  if (hasCode(error, 'EADDRINUSE')) return 'stop the other program, or choose another --port';
  if (hasCode(error, 'EACCES')) return 'run as a user with the permission, or choose another folder or port';
  if (hasCode(error, 'EADDRNOTAVAIL')) return 'choose an address of this machine: --host';
  if (hasCode(error, 'locked')) return 'stop the other process, or choose another --database';
  if (hasCode(error, 'corrupt'))
    return 'check --database; if it names the right database, restore a backup: homeostat import';
  if (hasCode(error, 'newer')) return 'install the newest version of homeostat';
  if (hasCode(error, 'io')) return 'start the database, and check host, port and path of --database';
  return undefined;
}

/**
 * Reports why the server could not start: on stderr with advice, and, if the log has JSON lines, also in the log. A
 * readable log does not get the error.
 */
export function reportFailedStart(err: unknown, { logger, pretty }: ServeLog): void {
  // stderr always gets the error. A terminal shows both stderr and a readable log, and must not show the error twice.
  if (pretty === undefined) logger.error({ err }, 'homeostat could not start');
  const cure = startCure(err);
  stderr.write(`homeostat could not start: ${errorText(err)}\n${cure === undefined ? '' : `→ ${cure}\n`}`);
}
