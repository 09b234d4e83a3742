import { inspect } from 'node:util';
import type { Logger } from '../../api/index.ts';

const oneLine = { breakLength: Infinity };

/**
 * A logger that prints only errors, to stderr: when a test waits for a controller without success, an error of the
 * controller is usually the reason. It prints the message and its fields on one line, then `err` with its stack.
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
