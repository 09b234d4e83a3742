import { readFile, stat } from 'node:fs/promises';

/**
 * Reads a text file of a plugin. Rejects when the file is larger than `maxKiB`, because parsing a very large file would
 * block the server.
 */
export async function readBounded(file: string, maxKiB: number, shownAs: string = file): Promise<string> {
  if ((await stat(file)).size > maxKiB * 1024) throw new Error(`${shownAs}: is larger than ${maxKiB} KiB`);
  return readFile(file, 'utf8');
}
