import { realpath } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';

/** The real path of a file of a folder (itself a real path). Rejects when it is missing, or a link leads out. */
export async function fileInside(folder: string, path: string): Promise<string> {
  const file = await realpath(join(folder, path));
  if (!isInside(folder, file)) throw new Error(`${path} leads out of the plugin's folder, to ${file}`);
  return file;
}

/** Compares real paths; a folder is inside itself. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way.split(/[\\/]/)[0] !== '..' && !isAbsolute(way);
}
