// Puts the temporary files of a whole run, such as databases, into memory, so that no test waits for a disk: tests end processes,
// not machines, and what a killed process has written stays in memory as it would stay in the cache of the kernel. Leaves TMPDIR
// alone where it is set, and where /dev/shm is missing, small, or runs no programs.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const memory = '/dev/shm';
/** A run uses less than a quarter of this. */
const neededBytes = 4e9;

let folder;

function hasRoom() {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= neededBytes;
  } catch {
    return false;
  }
}

function runsPrograms() {
  const program = join(folder, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  try {
    execFileSync(program);
    return true;
  } catch {
    return false;
  }
}

export function mochaGlobalSetup() {
  if (process.env.TMPDIR !== undefined || !hasRoom()) return;
  folder = mkdtempSync(join(memory, 'homeostat-tests-'));
  // A test that runs as root starts PostgreSQL as another user.
  chmodSync(folder, 0o755);
  if (runsPrograms()) process.env.TMPDIR = folder;
}

export function mochaGlobalTeardown() {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}
