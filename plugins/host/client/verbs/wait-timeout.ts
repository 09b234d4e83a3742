import { textFlag } from '../../serve/text-flag.ts';
import type { ClientCommand } from '../client-command.ts';
import { CommandError } from '../command-error.ts';

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * Reads `--timeout`; undefined without the flag. The value is a time such as `30s`, `5m` or `1h30m`: 0 means that the
 * condition is checked once, and a negative time means a week, as in kubectl. @throws CommandError
 */
export function readTimeoutMs(flags: ClientCommand['flags']): number | undefined {
  const text = textFlag(flags, 'timeout');
  if (text === undefined) return undefined;
  if (text === '0') return 0;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text.replace(/^-/, ''))
    throw new CommandError(`--timeout: must be a time such as 30s, 5m or 1h30m, not "${text}"`, 2);
  if (text.startsWith('-')) return 7 * 24 * 3_600_000;
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (unitsMs[unit] ?? 0), 0);
}
