/** A number of milliseconds, or a text of numbers with units: `250ms`, `30s`, `10m`, `1.5h`, `1h30m`. */
export type Duration = number | string;

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const wholePattern = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/;
const partPattern = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g;

/** Returns a duration in milliseconds. Throws RangeError when the value is negative, not finite, or not a duration. */
export function parseDuration(duration: Duration): number {
  if (typeof duration === 'number') {
    if (duration >= 0 && duration < Infinity) return duration;
    throw new RangeError(`a duration must be a finite number of milliseconds >= 0, not ${duration}`);
  }
  if (typeof duration !== 'string' || duration.length > 100 || !wholePattern.test(duration)) {
    throw new RangeError(
      `${JSON.stringify(duration)} is not a duration: write milliseconds, or text such as "250ms", "30s", "10m", "1h30m"`,
    );
  }
  let totalMs = 0;
  for (const [, amount, unit] of duration.matchAll(partPattern)) totalMs += Number(amount) * (unitMs[unit ?? ''] ?? 0);
  return totalMs;
}

/**
 * Returns the duration of an option in milliseconds. Throws RangeError when {@link parseDuration} does, with a message
 * that begins with `option`.
 */
export function durationOption(option: string, duration: Duration): number {
  try {
    return parseDuration(duration);
  } catch (error) {
    throw new RangeError(`${option}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
