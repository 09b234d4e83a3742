import { execFile } from 'node:child_process';
import { access, readdir } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The folder in which Debian has a folder for each version of PostgreSQL. */
const debianFolder = '/usr/lib/postgresql';

/**
 * The user that runs the servers, and owns their folder, when the tests run as root. PostgreSQL refuses to run as root.
 */
const ownUser = 'postgres';

/** PostgreSQL's programs. */
export interface Installation {
  readonly bin: string;
  /** The user that runs the servers. When absent, it is the user who runs the tests. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
}

/** Returns the installation of PostgreSQL; undefined when it is missing, or when there is no user to run it. */
export async function findInstallation(): Promise<Installation | undefined> {
  const configured = await run('pg_config', ['--bindir']).then(
    ({ stdout }) => [stdout.trim()],
    () => [],
  );
  const versions = await readdir(debianFolder).catch(() => []);
  versions.sort((a, b) => Number(b) - Number(a));
  const user = await otherUser();
  if (user === 'missing') return undefined;
  for (const bin of [...configured, ...versions.map((version) => join(debianFolder, version, 'bin'))]) {
    const isThere = await access(join(bin, 'initdb')).then(
      () => true,
      () => false,
    );
    if (isThere) return { bin, user };
  }
  return undefined;
}

/** Finds the user that runs the servers; undefined unless the tests run as root, `missing` without this user. */
async function otherUser(): Promise<Installation['user'] | 'missing'> {
  if (userInfo().uid !== 0) return undefined;
  const ids = ['-u', '-g'].map(async (option) => Number((await run('id', [option, ownUser])).stdout));
  return Promise.all(ids).then(
    ([uid = 0, gid = 0]) => ({ uid, gid }),
    () => 'missing',
  );
}
