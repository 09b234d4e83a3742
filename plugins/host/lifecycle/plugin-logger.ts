import type { Logger } from '@homeostat/controller-runtime/api';

/** A logger that adds the plugin's name to each line. */
export function pluginLogger(logger: Logger, plugin: string): Logger {
  return {
    debug: (fields, message) => logger.debug({ plugin, ...fields }, message),
    info: (fields, message) => logger.info({ plugin, ...fields }, message),
    warn: (fields, message) => logger.warn({ plugin, ...fields }, message),
    error: (fields, message) => logger.error({ plugin, ...fields }, message),
  };
}
