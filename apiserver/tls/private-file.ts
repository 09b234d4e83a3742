import { link, mkdtemp, open, rename, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** The maximum number of bytes of a file. A key and a chain of certificates have some kilobytes. */
const maxBytes = 1024 * 1024;

export interface PrivateFileRules {
  /**
   * When true, the group of a file that root owns may read the file, as in PostgreSQL. So root can mount a secret that
   * the user of a service can read.
   */
  readonly groupOfRoot: boolean;
  /** The name of the content in messages. Default `private key`. */
  readonly holds?: string;
}

/**
 * Reads a private file. Rejects with Error when the file is absent or too large, or when its mode gives access to users
 * whom the rules exclude.
 */
export async function readPrivate(path: string, rules: PrivateFileRules = { groupOfRoot: false }): Promise<string> {
  const file = await open(path, 'r');
  try {
    await checkMode(file, path, rules);
    return await readBounded(file, path);
  } finally {
    await file.close();
  }
}

/** Reads a public file. Rejects with Error when it is absent or too large. */
export async function readPublic(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    return await readBounded(file, path);
  } finally {
    await file.close();
  }
}

/** Creates, atomically, a file that only its owner can read. Rejects with EEXIST when the file exists. */
export async function createPrivate(path: string, text: string): Promise<void> {
  await aside(path, async (next) => {
    await writeDurably(next, text, 0o600);
    await link(next, path);
  });
}

/** Replaces a file atomically: a reader gets either the old or the new file. */
export async function replaceFile(path: string, text: string, mode: number): Promise<void> {
  await aside(path, async (next) => {
    await writeDurably(next, text, mode);
    await rename(next, path);
  });
}

/** Calls `use` with a new path on the same file system. No other process uses this path. */
async function aside(path: string, use: (next: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(`${path}.new-`);
  try {
    await use(join(folder, basename(path)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeDurably(path: string, text: string, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function checkMode(file: FileHandle, path: string, rules: PrivateFileRules): Promise<void> {
  // Windows does not have these file modes.
  if (process.platform === 'win32') return;
  const { mode, uid } = await file.stat();
  const { groupOfRoot, holds = 'private key' } = rules;
  const forbidden = groupOfRoot && uid === 0 ? 0o037 : 0o077;
  if ((mode & forbidden) === 0) return;
  const octal = (mode & 0o777).toString(8).padStart(4, '0');
  throw new Error(`${path}: users other than its owner have access to this ${holds} (mode ${octal}): chmod 600 it`);
}

async function readBounded(file: FileHandle, path: string): Promise<string> {
  const stats = await file.stat();
  if (!stats.isFile()) throw new Error(`${path}: is not a file`);
  const { size } = stats;
  if (size > maxBytes) throw new Error(`${path}: is larger than ${maxBytes} bytes`);
  return file.readFile('utf8');
}
