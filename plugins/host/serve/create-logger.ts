import type { Logger } from '@homeostat/controller-runtime/api';
import { pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from './config-values.ts';
import { LineOutput } from '../text/line-output.ts';

/** Fields of log lines that may hold a secret. */
const secrets = ['authorization', 'password', 'token', 'secret', 'cookie'];
const redact = secrets.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

const stdout = 1;

/** JSON lines on stdout, written before the call returns, so that none is lost at an exit. */
export function createLogger(level: LogLevel): Logger {
  const options = {
    level,
    redact,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  // At the exit, pino's own output waits for ever for a reader that is gone.
  return pino(options, new LineOutput(stdout));
}
