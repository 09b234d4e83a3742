import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Returns a new folder, which is deleted when this process ends, even after an interrupt. The variable `TMPDIR` selects
 * its disk.
 */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'homeostat-bench-'));
  // The deletion is tried several times, because after an interrupt, a child process may still be writing into the
  // folder.
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  process.once('exit', remove);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      remove();
      // The listener has been removed, so the signal now has its default effect: it ends the process.
      process.kill(process.pid, signal);
    });
  }
  return folder;
}
