const variable = 'HOMEOSTAT_TEST_TIME_FACTOR';

/**
 * Returns the real time that a test waits for work that takes `timeoutMs` on an idle machine: the environment
 * variable HOMEOSTAT_TEST_TIME_FACTOR (default 1) multiplies it. Throws a RangeError if the variable is not a
 * positive number.
 */
export function testPatienceMs(timeoutMs: number): number {
  const text = process.env[variable] ?? '1';
  const factor = Number(text);
  if (factor > 0 && Number.isFinite(factor)) return timeoutMs * factor;
  throw new RangeError(`${variable} must be a positive number, not "${text}"`);
}
