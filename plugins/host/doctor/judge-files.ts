import { existsSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { ServeConfig } from '../serve/config.ts';
import { secretFileProblem } from '../text/secret-file.ts';
import type { Finding } from './finding.ts';

const mebibyte = 1024 * 1024;
/**
 * Free space below the first limit is a warning, because the disk may soon be full; below the second limit, it is an
 * error.
 */
const room = { warningMiB: 1024, errorMiB: 100 } as const;
/** The tolerated difference between clocks: the clocks of machines that share files differ a little. */
const toleratedAheadMs = 60_000;

/** Judges who has access to the files with secrets, and to the database. */
export function judgePermissions(config: ServeConfig, databaseFile: string | undefined): readonly Finding[] {
  const check = 'permissions';
  const { adminKubeconfig, tokenFile, tls, encryptionConfig } = config;
  const secrets = [
    tokenFile,
    encryptionConfig ?? join(dirname(adminKubeconfig), 'encryption.key'),
    tls !== undefined && 'keyFile' in tls ? tls.keyFile : undefined,
    tls !== undefined && 'directory' in tls ? join(tls.directory, 'authority.pem') : undefined,
    databaseFile,
  ].filter((path) => path !== undefined && existsSync(path));
  const findings = secrets.flatMap((path = ''): Finding[] => {
    const problem = secretFileProblem(path);
    if (problem === undefined) return [];
    // The server opens a database file that other users can read. It refuses to use the other files, so their problems
    // are errors.
    const level = path === databaseFile ? 'warning' : 'error';
    return [{ check, level, message: `${path}: ${problem.replace(/: chmod.*/, '')}`, cure: `chmod 600 ${path}` }];
  });
  if (findings.length > 0) return findings;
  return [{ check, level: 'ok', message: `${secrets.length} files with secrets are accessible to their owner only` }];
}

/** Judges the free space on the disk of a folder. The folder need not exist yet. */
export async function judgeDisk(folder: string): Promise<readonly Finding[]> {
  const place = existingFolder(resolve(folder));
  const { bavail, bsize } = await statfs(place);
  const freeMiB = Math.floor((bavail * bsize) / mebibyte);
  const message = `${freeMiB} MiB are free at ${place}`;
  const cure = `free some space, or move the database to a larger disk`;
  if (freeMiB < room.errorMiB) return [{ check: 'disk', level: 'error', message, cure }];
  if (freeMiB < room.warningMiB) return [{ check: 'disk', level: 'warning', message, cure }];
  return [{ check: 'disk', level: 'ok', message }];
}

/** Judges the clock: if the time of the last write to the database file is in the future, the clock was or is wrong. */
export function judgeClock(databaseFile: string | undefined, nowMs: number): readonly Finding[] {
  const check = 'clock';
  const found = databaseFile === undefined ? undefined : statSync(databaseFile, { throwIfNoEntry: false });
  const now = new Date(nowMs).toISOString();
  if (found === undefined || found.mtimeMs <= nowMs + toleratedAheadMs) return [{ check, level: 'ok', message: now }];
  const message = `${databaseFile} was written at ${found.mtime.toISOString()}, and the clock says ${now}`;
  return [{ check, level: 'warning', message, cure: 'set the clock, and synchronize it by NTP' }];
}

function existingFolder(folder: string): string {
  return existsSync(folder) ? folder : existingFolder(dirname(folder));
}
