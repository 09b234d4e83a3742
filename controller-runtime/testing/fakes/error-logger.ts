import { inspect } from 'node:util';
import type { Logger } from '../../api/index.ts';

const oneLine = { breakLength: Infinity };

/**
 * Prints errors to stderr, and nothing else: where a test waits for what a controller does, the error of that controller
 * is mostly the reason why it waits in vain. One line says the message and its fields, then comes `err` with its stack.
 */
export const errorLogger: Logger = Object.freeze({
  debug() {},
  info() {},
  warn() {},
  error({ err, ...fields }: Readonly<Record<string, unknown>>, message: string) {
    const named = Object.entries(fields).map(([name, value]) => ` ${name}=${inspect(value, oneLine)}`);
    process.stderr.write(`error: ${message}${named.join('')}\n${err === undefined ? '' : `${inspect(err)}\n`}`);
  },
});
