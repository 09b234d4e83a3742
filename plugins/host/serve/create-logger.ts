import type { Logger } from '@homeostat/controller-runtime/api';
import { hostname } from 'node:os';
import { pino, stdTimeFunctions } from 'pino';
import type { LogFormat, LogLevel } from './config-values.ts';
import { LineOutput } from '../text/line-output.ts';
import { PrettyLog } from './pretty-log.ts';

/** Fields of log lines that may hold a secret. */
const secrets = ['authorization', 'password', 'token', 'secret', 'cookie'];
const redact = secrets.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

const stdout = 1;

interface LogContext {
  readonly environment: NodeJS.ProcessEnv;
  /** Fields of each line. Default none. */
  readonly fields?: object;
}

export interface ServeLog {
  readonly logger: Logger;
  /** The log for people; absent when the log is JSON. */
  readonly pretty: PrettyLog | undefined;
}

/**
 * The log on stdout, written before the call returns, so that nothing is lost at an exit: JSON lines, or lines for people, which have
 * colors at a terminal.
 */
export function createLog(level: LogLevel, format: LogFormat, { environment, fields }: LogContext): ServeLog {
  const options = {
    base: { pid: process.pid, hostname: hostname(), ...fields },
    level,
    redact,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  // At an exit, pino's own output would wait for ever for a reader that is gone.
  const output = new LineOutput(stdout);
  if (format === 'json') return { logger: pino(options, output), pretty: undefined };
  const isTerminal = process.stdout.isTTY;
  const colored = isTerminal && (environment['NO_COLOR'] ?? '') === '';
  const pretty = new PrettyLog({ output, colored, isTerminal, verbose: level === 'debug' });
  return { logger: pino(options, pretty), pretty };
}
