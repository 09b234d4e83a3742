import type { Logger } from '@homeostat/controller-runtime/api';
import { pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from './config-values.ts';
import { LineOutput } from '../text/line-output.ts';

/** Fields that may hold a secret, wherever a log line could bring one along. */
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
  // Pino's own output waits for ever, at the exit, for a reader that has gone.
  return pino(options, new LineOutput(stdout));
}
