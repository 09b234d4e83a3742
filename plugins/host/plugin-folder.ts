import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readDeclaredObjects } from './declared-objects.ts';
import { errorText } from './error-text.ts';
import { fileInside } from './inside-folder.ts';
import { parseManifest } from './manifest.ts';
import type { PluginSource } from './plugin-source.ts';

/** Imports a file as a module. */
export type ImportFile = (file: string) => Promise<unknown>;

/** Files that are served under `/plugins/<name>/assets/`. */
const assetsFolder = 'resources/static';

/**
 * Reads the manifest of a folder; no code of the plugin runs yet. Rejects with an Error that names the file and every
 * mistake in it.
 */
export async function openPluginFolder(path: string, importFile: ImportFile = importAsModule): Promise<PluginSource> {
  const folder = await realpath(path);
  const file = join(folder, 'plugin.yaml');
  const yaml = await readFile(file, 'utf8');
  try {
    const manifest = parseManifest(yaml);
    return {
      manifest,
      folder,
      load: async () => defaultOf(await fileInside(folder, manifest.main), importFile),
      declaredObjects: () => readDeclaredObjects(folder, manifest.revision),
      assets: () => assetsOf(folder),
    };
  } catch (cause) {
    throw new Error(`${file}: ${errorText(cause)}`, { cause });
  }
}

async function importAsModule(file: string): Promise<unknown> {
  return import(pathToFileURL(file).href);
}

async function assetsOf(folder: string): Promise<string | undefined> {
  try {
    return await fileInside(folder, assetsFolder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function defaultOf(file: string, importFile: ImportFile): Promise<unknown> {
  const module = (await importFile(file)) as { readonly default?: unknown };
  if (module.default === undefined) throw new Error(`${file} has no default export`);
  return module.default;
}
