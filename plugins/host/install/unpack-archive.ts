import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { maxArchiveBytes, readTarball } from './read-tarball.ts';

/**
 * Files that `npm pack` never packs, with the reason why an archive that has them is refused. The patterns match
 * lower-case paths with `/`.
 */
const refused: readonly (readonly [path: RegExp, why: string])[] = [
  [/(?:^|\/)\.npmrc(?:\/|$)/, 'is a configuration of npm: leave it out of the archive'],
  [/(?:^|\/)node_modules\/\.bin(?:\/|$)/, 'is a folder of programs that npm creates: leave it out of the archive'],
];

/**
 * Unpacks a `.tgz` into an empty folder, without the outermost folder of the archive (by convention `package`). Rejects
 * with an Error that names the entry when {@link readTarball} refuses the archive, and when the archive has a
 * configuration of npm, `node_modules/.bin`, or two entries with the same path. Programs and file systems disagree on
 * which of two such entries counts.
 */
export async function unpackArchive(file: string, folder: string): Promise<void> {
  try {
    if ((await stat(file)).size > maxArchiveBytes) throw new Error('is larger than 256 MiB');
    const unpacked = new Set<string>();
    for (const { path, bytes } of await readTarball(await readFile(file))) {
      const inside = pathInside(path);
      const folded = inside.normalize('NFC').toLowerCase();
      const [, why] = refused.find(([pattern]) => pattern.test(folded)) ?? [];
      if (why !== undefined) throw new Error(`${path}: ${why}`);
      if (unpacked.has(folded)) throw new Error(`${path}: exists twice`);
      unpacked.add(folded);
      const target = join(folder, ...inside.split('/'));
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, bytes, { flag: 'wx' });
    }
  } catch (cause) {
    throw new Error(`${file}: cannot be unpacked`, { cause });
  }
}

function pathInside(path: string): string {
  const [, ...parts] = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.length === 0) throw new Error(`${path}: must be in a folder, as in archives that npm pack writes`);
  return parts.join('/');
}
