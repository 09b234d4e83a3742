// Puts the temporary files of a whole run, such as databases, into memory, so that no test waits for a disk. Tests kill
// processes, not machines, and the files that a killed process has written stay in memory, as they would stay in the
// cache of the kernel. TMPDIR remains as it is if it is set, or if /dev/shm is missing, has too little space, or does
// not allow programs to run.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const memory = '/dev/shm';
const prefix = 'homeostat-tests-';
/** The space that must be free. A run uses less than a quarter of it. */
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

/** Deletes the folders of earlier runs that were interrupted. */
function deleteLeftovers() {
  for (const name of readdirSync(memory).filter((each) => each.startsWith(prefix))) {
    if (isAlive(Number.parseInt(name.slice(prefix.length), 10))) continue;
    try {
      rmSync(join(memory, name), { recursive: true });
    } catch {
      // The leftover folder belongs to another user, so it stays.
    }
  }
}

function isAlive(id) {
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

export function mochaGlobalSetup() {
  if (process.env.TMPDIR !== undefined || !hasRoom()) return;
  deleteLeftovers();
  folder = mkdtempSync(join(memory, `${prefix}${process.pid}-`));
  // The folder is deleted last, because other teardowns still have files in it.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  // A test that runs as root starts PostgreSQL as another user, who needs access to the folder.
  chmodSync(folder, 0o755);
  if (runsPrograms()) process.env.TMPDIR = folder;
}
