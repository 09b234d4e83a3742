import { errorText, hasCode } from '../text/error-text.ts';
import { stderr } from '../text/line-output.ts';
import type { ServeLog } from './create-logger.ts';

/** Returns the cure for an error of a start; undefined if the message contains it. */
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

/** Reports why the server could not start: in the log, unless a person reads it at a terminal, and on stderr with the cure. */
export function reportFailedStart(err: unknown, { logger, pretty }: ServeLog): void {
  // At a terminal, the message would appear twice.
  if (pretty === undefined) logger.error({ err }, 'homeostat could not start');
  const cure = startCure(err);
  stderr.write(`homeostat could not start: ${errorText(err)}\n${cure === undefined ? '' : `→ ${cure}\n`}`);
}
