import { silentLogger, type Logger } from '../api/index.ts';

/**
 * Returns a logger that passes lines to the given one and catches its errors and rejections: a line that cannot be
 * written must not stop the work that logs it. The first failure is reported as a process warning, which Node.js writes
 * to stderr.
 */
export function containLogger(logger: Logger): Logger {
  if (logger === silentLogger) return logger;
  let hasWarned = false;
  const warnOnce = (error: unknown): void => {
    if (hasWarned) return;
    hasWarned = true;
    const why = error instanceof Error ? error.message : 'no error';
    process.emitWarning(`the logger failed (${why}); lines of the log are lost`, { code: 'HOMEOSTAT_LOGGER' });
  };
  const contained = (level: keyof Logger): Logger['info'] => {
    return (fields, message) => {
      try {
        const returned: unknown = logger[level](fields, message);
        if (isThenable(returned)) returned.then(undefined, warnOnce);
      } catch (error) {
        warnOnce(error);
      }
    };
  };
  return { debug: contained('debug'), info: contained('info'), warn: contained('warn'), error: contained('error') };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
