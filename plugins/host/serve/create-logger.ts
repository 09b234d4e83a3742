import type { Logger } from '@homeostat/controller-runtime/api';
import { hostname } from 'node:os';
import { pino, stdTimeFunctions } from 'pino';
import type { LogFormat, LogLevel } from './config-values.ts';
import { LineOutput } from '../text/line-output.ts';
import { PrettyLog } from './pretty-log.ts';

/** The fields of log lines that may contain a secret. Their values are removed. */
const secrets = ['authorization', 'password', 'token', 'secret', 'cookie'];
const redact = secrets.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

const stdout = 1;

interface LogContext {
  readonly environment: NodeJS.ProcessEnv;
  /** Fields that are added to each log line. Default: none. */
  readonly fields?: object;
}

export interface ServeLog {
  readonly logger: Logger;
  /** The log of readable lines; absent when the log is JSON. */
  readonly pretty: PrettyLog | undefined;
}

/**
 * Creates the log on stdout. It has JSON lines, or readable lines, which have colors at a terminal. Each line is
 * written before the call returns, so that no line is lost when the process exits.
 */
export function createLog(level: LogLevel, format: LogFormat, { environment, fields }: LogContext): ServeLog {
  const options = {
    base: { pid: process.pid, hostname: hostname(), ...fields },
    level,
    redact,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  // LineOutput replaces pino's own output, which waits forever at an exit when the reader of stdout has ended.
  const output = new LineOutput(stdout);
  if (format === 'json') return { logger: pino(options, output), pretty: undefined };
  const isTerminal = process.stdout.isTTY;
  const colored = isTerminal && (environment['NO_COLOR'] ?? '') === '';
  const pretty = new PrettyLog({ output, colored, isTerminal, verbose: level === 'debug' });
  return { logger: pino(options, pretty), pretty };
}
