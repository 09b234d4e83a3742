import type { Logger } from '@homeostat/controller-runtime/api';
import { pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from './config.ts';

/** Fields that may hold a secret, wherever a log line could bring one along. */
const secrets = ['authorization', 'password', 'token', 'secret', 'cookie'];
const redact = secrets.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

/** JSON lines on stdout, written before the call returns, so that none is lost at an exit. */
export function createLogger(level: LogLevel): Logger {
  return pino({
    level,
    redact,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  });
}
