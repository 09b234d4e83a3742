import { testPatienceMs } from './test-patience.ts';

export interface EventuallyOptions {
  /** Real time, which HOMEOSTAT_TEST_TIME_FACTOR multiplies. Default 5000 ms. */
  readonly timeoutMs?: number;
  /** Describes the condition in the error. Called at the time-out only. */
  readonly describe?: string | (() => string);
}

/** Short compared to any test, long enough to leave the CPU idle. */
const pollMs = 3;

/**
 * Calls the condition until it returns something truthy, and resolves with that. A condition that throws or rejects does not hold
 * yet; what it threw last is the cause of the time-out's error. `await eventually(() => expect(list).to.have.length(2))`
 * works, since an assertion is truthy; a block without `return` never holds.
 */
export async function eventually<V>(
  condition: () => V | Promise<V>,
  options: EventuallyOptions = {},
): Promise<Exclude<V, undefined | null | false | 0 | ''>> {
  const { describe = 'the condition to hold' } = options;
  const timeoutMs = testPatienceMs(options.timeoutMs ?? 5000);
  const deadlineMs = performance.now() + timeoutMs;
  let cause: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value) return value as Exclude<V, undefined | null | false | 0 | ''>;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > deadlineMs) break;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  const awaited = typeof describe === 'string' ? describe : describe();
  const reason = cause instanceof Error ? `: ${cause.message}` : '';
  throw new Error(`waited ${timeoutMs} ms in vain for ${awaited}${reason}`, { cause });
}
