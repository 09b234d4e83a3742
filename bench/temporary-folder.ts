import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder that is gone when this process ends, also by an interrupt. `TMPDIR` says on which disk. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'homeostat-bench-'));
  // A child may be writing still, when an interrupt ends it at the same moment.
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  process.once('exit', remove);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      remove();
      // The listener is gone, so that the signal now does what it does.
      process.kill(process.pid, signal);
    });
  }
  return folder;
}
