import type { Logger } from 'homeostat';

type Write = Logger['info'];

function writer(level: string): Write {
  return (fields, message) => process.stderr.write(`${JSON.stringify({ level, message, ...fields }, plain)}\n`);
}

/** Returns the stack of an error, which JSON.stringify would write as `{}`. Returns any other value unchanged. */
function plain(_key: string, value: unknown): unknown {
  return value instanceof Error ? value.stack : value;
}

/**
 * Writes messages to stderr as lines of JSON, and drops debug messages. Any logger with these four methods works, such
 * as pino.
 */
export const logger: Logger = { debug: () => {}, info: writer('info'), warn: writer('warn'), error: writer('error') };
