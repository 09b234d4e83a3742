import { sleep, systemClock } from '@homeostat/controller-runtime';
import type { Clock } from '@homeostat/controller-runtime/api';
import { backupSource, readCopy } from '../../remote/read-copy.ts';
import type { ServerAddress } from '../../remote/request-server.ts';
import type { ConfigSources } from '../../serve/config-values.ts';
import { readServer } from '../../serve/read-server.ts';
import { errorText } from '../../text/error-text.ts';
import { checkAbsent, writeWhole } from '../../text/output-file.ts';
import { removeOldBackups, timedFile } from './backup-files.ts';
import { readBackupPlan } from './backup-plan.ts';
import type { BackupPlan } from './backup-plan.ts';
import { commandProgress } from '../command-progress.ts';
import { runCopy } from '../run-copy.ts';

/** A failed backup is tried again after this time, or after the interval of `--every`, if that is shorter. */
const retryMs = 60_000;

/**
 * Runs `homeostat backup`, with `--every` until a signal ends it. Returns the exit code: 0, 1 when it failed, 2 for bad
 * values. With `--every`, the command ends if the first backup fails. If a later backup fails, the command reports
 * that, and tries again.
 */
export function runBackup(sources: ConfigSources, clock: Clock = systemClock): Promise<number> {
  return runCopy('backup', async (signal) => {
    const plan = readBackupPlan(sources.flags);
    const parts = { address: readServer(sources), clock, signal };
    await takeBackup(plan, parts);
    if (plan.everyMs !== undefined) await repeatBackup(plan, plan.everyMs, parts);
  });
}

interface BackupParts {
  readonly address: ServerAddress;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

async function takeBackup({ to, keep, force }: BackupPlan, { address, clock, signal }: BackupParts): Promise<void> {
  const file = keep === undefined ? to : timedFile(to, clock.now());
  if (!force) await checkAbsent(file);
  const progress = commandProgress('backing up', 'MiB');
  let bytes = 0;
  const onBytes = (added: number): void => progress.show(Math.floor((bytes += added) / 2 ** 20));
  const pieces = counted(readCopy(address, backupSource, signal), onBytes);
  await writeWhole(file, pieces, signal).finally(() => progress.end());
  process.stderr.write(`backed up to ${file}, ${bytes} bytes\n`);
  if (keep !== undefined) await removeOldBackups(to, keep);
}

async function* counted(
  pieces: AsyncIterable<Uint8Array>,
  onBytes: (added: number) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of pieces) {
    onBytes(piece.length);
    yield piece;
  }
}

/** Makes a backup after each interval; resolves when the signal aborts. */
async function repeatBackup(plan: BackupPlan, everyMs: number, parts: BackupParts): Promise<void> {
  const { clock, signal } = parts;
  for (let waitMs = everyMs; ;) {
    await sleep(clock, waitMs, signal);
    if (signal.aborted) return;
    const beganMs = clock.monotonicMs();
    try {
      await takeBackup(plan, parts);
      waitMs = Math.max(0, everyMs - (clock.monotonicMs() - beganMs));
    } catch (error) {
      // A backup that the signal interrupts leaves no file behind, and is not reported.
      if (signal.aborted) return;
      waitMs = Math.min(retryMs, everyMs);
      process.stderr.write(`no backup, next try in ${waitMs / 1000} s: ${errorText(error)}\n`);
    }
  }
}
