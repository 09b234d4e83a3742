import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const made: string[] = [];

/** Makes a temporary folder with the given files, by path. `removeFolders` deletes it. */
export async function makeFolder(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'homeostat-'));
  made.push(folder);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return folder;
}

/** Makes the folder of a plugin: a manifest with the given name, and a main file. */
export async function makePlugin(
  name: string,
  main: string,
  files: Readonly<Record<string, string>> = {},
): Promise<string> {
  return makeFolder({
    'plugin.yaml': `name: ${name}\nversion: 1.0.0\n`,
    'package.json': '{"type": "module"}',
    'dist/index.js': main,
    ...files,
  });
}

export async function removeFolders(): Promise<void> {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true, force: true });
}
