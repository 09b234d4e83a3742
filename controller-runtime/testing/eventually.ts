import { testPatienceMs } from './test-patience.ts';

export interface EventuallyOptions {
  /** The time limit in real time, which HOMEOSTAT_TEST_TIME_FACTOR multiplies. Default 5000 ms. */
  readonly timeoutMs?: number;
  /** Describes the condition in the time-out's error: a text, or a function, which is called only at the time-out. */
  readonly describe?: string | (() => string);
}

/**
 * The interval between two calls of the condition. It is short compared to any test, and long enough to leave the CPU
 * idle.
 */
const pollMs = 3;

/**
 * Calls the condition repeatedly until it returns a truthy value, and resolves with this value. A condition that throws
 * or rejects is called again; if the last call fails, its error is the cause of the time-out's error. `await
 * eventually(() => expect(list).to.have.length(2))` works, because an assertion is truthy; a function body without
 * `return` never returns a truthy value.
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
