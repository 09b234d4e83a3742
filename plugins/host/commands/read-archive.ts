import { readFile, stat } from 'node:fs/promises';
import { packPlugin } from '../install/pack-plugin.ts';

/** The limit of the server. */
const maxBytes = 64 * 1024 * 1024;

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Returns the archive of a plugin that is uploaded: a file unchanged, a folder or a package of the registry in packed
 * form. Rejects for everything else, with the cure.
 */
export async function readArchive(
  source: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Bytes> {
  const read = async (path: string): Promise<Bytes> => readBounded(path, source);
  const found = await stat(source).catch(() => undefined);
  return found?.isFile() === true ? read(source) : packPlugin(source, environment, read);
}

async function readBounded(path: string, source: string): Promise<Bytes> {
  const { size } = await stat(path);
  if (size <= maxBytes) return new Uint8Array(await readFile(path));
  const way = 'make it smaller, or give --plugins-dir on the machine of the server';
  throw new Error(`${source}: is larger than 64 MiB, which is the most that a server accepts: ${way}`);
}
