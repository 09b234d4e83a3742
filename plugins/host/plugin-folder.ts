import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { readDeclaredObjects } from './declared-objects.ts';
import { errorText } from './error-text.ts';
import { fileInside } from './inside-folder.ts';
import { parseManifest } from './manifest.ts';
import { importPluginModule } from './plugin-modules.ts';
import type { PluginSource } from './plugin-source.ts';

/** Files that are served under `/plugins/<name>/assets/`. */
const assetsFolder = 'resources/static';

/**
 * Reads the manifest of a folder; no code of the plugin runs yet. Rejects with an Error that names the file and every
 * mistake in it.
 */
export async function openPluginFolder(path: string): Promise<PluginSource> {
  const folder = await realpath(path);
  const file = join(folder, 'plugin.yaml');
  const yaml = await readFile(file, 'utf8');
  try {
    const manifest = parseManifest(yaml);
    return {
      manifest,
      folder,
      load: async () => importDefault(folder, await fileInside(folder, manifest.main)),
      declaredObjects: () => readDeclaredObjects(folder, manifest.revision),
      reopen: () => openPluginFolder(path),
      assets: () => assetsOf(folder),
    };
  } catch (cause) {
    throw new Error(`${file}: ${errorText(cause)}`, { cause });
  }
}

async function assetsOf(folder: string): Promise<string | undefined> {
  try {
    return await fileInside(folder, assetsFolder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function importDefault(folder: string, file: string): Promise<unknown> {
  const module = (await importPluginModule(folder, file)) as { readonly default?: unknown };
  if (module.default === undefined) throw new Error(`${file} has no default export`);
  return module.default;
}
