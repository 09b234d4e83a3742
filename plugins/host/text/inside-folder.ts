import { realpath } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';

/**
 * Returns the real path of a file in `folder`, without symbolic links. `folder` must be a real path, too. Rejects when
 * the file is missing, or when a link leads out of the folder.
 */
export async function fileInside(folder: string, path: string): Promise<string> {
  const file = await realpath(join(folder, path));
  if (!isInside(folder, file)) throw new Error(`${path} leads out of the plugin's folder, to ${file}`);
  return file;
}

/** Returns true when a path is inside a folder, or is the folder. Both must be real paths. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way.split(/[\\/]/)[0] !== '..' && !isAbsolute(way);
}
