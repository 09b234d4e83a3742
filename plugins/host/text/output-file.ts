import { randomUUID } from 'node:crypto';
import { lstat, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode } from './error-text.ts';

/** Rejects when a file with the given path exists. */
export async function checkAbsent(path: string): Promise<void> {
  const found = await lstat(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (found !== undefined) throw new Error(`${path} exists already; --force overwrites it`);
}

/**
 * Writes a file that only its owner can read. The write is atomic: the content goes to another file in the same folder,
 * which is renamed when everything is on the disk. When `pieces` rejects, the call rejects with the same error, and
 * leaves no file behind.
 */
export async function writeWhole(
  path: string,
  pieces: AsyncIterable<Uint8Array> | readonly Uint8Array[],
  signal: AbortSignal,
): Promise<void> {
  const temporary = `${path}.${randomUUID()}.partial`;
  try {
    await writeDurably(temporary, pieces, signal);
    await rename(temporary, path);
    await syncFolder(dirname(path));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function writeDurably(
  path: string,
  pieces: AsyncIterable<Uint8Array> | readonly Uint8Array[],
  signal: AbortSignal,
): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const piece of pieces) {
      signal.throwIfAborted();
      await file.writeFile(piece);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Flushes a folder to the disk, so that the rename in it survives a crash. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
