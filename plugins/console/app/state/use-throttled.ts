import { useEffect, useRef, useState } from 'preact/hooks';
import { browserClock } from '../base/time.ts';

/**
 * Returns `value`, but delays its changes: the result changes at most once in `leastMs`, so that a page does not read
 * its data again after each of many changes.
 */
export function useThrottled(value: string, leastMs: number): string {
  const [shown, setShown] = useState(value);
  const changedMs = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    if (value === shown) return undefined;
    const waitMs = Math.max(0, changedMs.current + leastMs - browserClock.now());
    return browserClock.after(waitMs, () => {
      changedMs.current = browserClock.now();
      setShown(value);
    });
  }, [value, shown]);
  return shown;
}
