import { access, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ScaffoldError } from './scaffold-error.ts';

/** The contents of files, by their paths relative to a folder. */
export type Files = Readonly<Record<string, string>>;

/** Writes new files. If one of them exists, rejects with ScaffoldError and writes no file. */
export async function writeNewFiles(folder: string, files: Files): Promise<void> {
  for (const path of Object.keys(files)) {
    if (await isThere(join(folder, path))) throw new ScaffoldError(`${path} exists already: nothing was written`);
  }
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    // With the flag `wx`, a file that appeared after the check is not overwritten either.
    await writeFile(join(folder, path), content, { flag: 'wx' });
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
