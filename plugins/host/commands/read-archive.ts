import { readFile, stat } from 'node:fs/promises';

/** The limit of the server. */
const maxBytes = 64 * 1024 * 1024;

/** Reads an archive that is uploaded. Rejects for everything else, with what to do. */
export async function readArchive(path: string): Promise<Uint8Array<ArrayBuffer>> {
  const found = await stat(path).catch(() => undefined);
  const way = 'or give --plugins-dir on the machine of the server';
  if (found?.isFile() !== true)
    throw new Error(`${path}: is not a file; only a .tgz is uploaded: make one with npm pack, ${way}`);
  if (found.size > maxBytes)
    throw new Error(`${path}: is larger than 64 MiB, which is the most that a server accepts: make it smaller, ${way}`);
  return new Uint8Array(await readFile(path));
}
