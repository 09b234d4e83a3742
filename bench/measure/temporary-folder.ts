import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder that is deleted when this process ends, even by an interrupt. `TMPDIR` decides the disk. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'homeostat-bench-'));
  // An interrupt may end a child at the same moment, while it still writes.
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  process.once('exit', remove);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      remove();
      // The listener is removed, so that the signal now has its default effect.
      process.kill(process.pid, signal);
    });
  }
  return folder;
}
