import { reachCure } from '../serve/access-cure.ts';
import { ConfigError } from '../serve/config-error.ts';
import { errorText } from '../text/error-text.ts';

const signals = ['SIGTERM', 'SIGINT'] as const;

/**
 * Runs a command that a signal can stop, and returns the exit code: 0, 1 when it failed or a signal stopped it, 2 for
 * bad values. Errors are printed. The first signal aborts the work; a second one ends the process at once.
 */
export async function runCopy(name: string, copy: (signal: AbortSignal) => Promise<void>): Promise<number> {
  const controller = new AbortController();
  const release = (): void => signals.forEach((signal) => process.off(signal, stop));
  const stop = (signal: string): void => {
    release();
    controller.abort(new Error(`stopped by ${signal}`));
  };
  for (const signal of signals) process.on(signal, stop);
  try {
    await copy(controller.signal);
    return 0;
  } catch (error) {
    // The server throws RangeError for an invalid database URL.
    const isUsage = error instanceof ConfigError || error instanceof RangeError;
    const problem = error instanceof RangeError ? `database: ${error.message}` : errorText(error);
    const cure = reachCure(error);
    process.stderr.write(
      isUsage ? `${problem}\n` : `homeostat ${name} failed: ${problem}${cure === undefined ? '' : `: ${cure}`}\n`,
    );
    return isUsage ? 2 : 1;
  } finally {
    release();
  }
}
