import { silentLogger, type Logger } from '../api/index.ts';

/**
 * The same logger, but what it throws goes no further: a line that cannot be written must not end what it tells of. The
 * first failure is a warning of the process, which Node writes to stderr.
 */
export function containLogger(logger: Logger): Logger {
  if (logger === silentLogger) return logger;
  let hasWarned = false;
  const warnOnce = (error: unknown): void => {
    if (hasWarned) return;
    hasWarned = true;
    const why = error instanceof Error ? error.message : 'no error';
    process.emitWarning(`the logger threw (${why}); lines of the log are lost`, { code: 'HOMEOSTAT_LOGGER' });
  };
  const contained = (level: keyof Logger): Logger['info'] => {
    return (fields, message) => {
      try {
        logger[level](fields, message);
      } catch (error) {
        warnOnce(error);
      }
    };
  };
  return { debug: contained('debug'), info: contained('info'), warn: contained('warn'), error: contained('error') };
}
