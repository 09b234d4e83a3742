import type { Logger } from '../../api/index.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns a logger that adds fields to each line. If a line has one of these fields itself, the value of the line is
 * logged.
 */
export function childLogger(logger: Logger, fields: Fields): Logger {
  return {
    debug: (own, message) => logger.debug({ ...fields, ...own }, message),
    info: (own, message) => logger.info({ ...fields, ...own }, message),
    warn: (own, message) => logger.warn({ ...fields, ...own }, message),
    error: (own, message) => logger.error({ ...fields, ...own }, message),
  };
}
