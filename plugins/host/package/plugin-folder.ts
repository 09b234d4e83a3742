import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { readDeclaredObjects } from '../declared/declared-objects.ts';
import { fileInside } from '../text/inside-folder.ts';
import { parseManifest } from '../manifest/manifest.ts';
import type { PluginManifest } from '../manifest/manifest.ts';
import { importPluginModule } from './plugin-modules.ts';
import type { PluginSource } from './plugin-source.ts';
import { hasCode } from '../text/error-text.ts';
import { readBounded } from '../text/read-bounded.ts';
import { isJsonObject } from '../text/yaml-mapping.ts';

/** The maximum size of a manifest. The schema of the settings is its largest part. */
const maxManifestKiB = 256;

/** The folder of the files that are served under `/plugins/<name>/assets/`. */
const assetsFolder = 'resources/static';

export interface PluginFolder extends PluginSource {
  readonly folder: string;
}

/**
 * Reads the manifest of a folder; does not run code of the plugin. Rejects with an Error that names the missing file,
 * or the file and every mistake in it. `shownAs` is the folder's name in messages; default: its real path.
 */
export async function openPluginFolder(path: string, shownAs?: string): Promise<PluginFolder> {
  const folder = await present(realpath(path), `${path}: there is no such folder`);
  const shown = shownAs ?? folder;
  const yaml = await present(
    readBounded(join(folder, 'plugin.yaml'), maxManifestKiB, join(shown, 'plugin.yaml')),
    `${shown}: is not a plugin, because it has no plugin.yaml`,
  );
  const manifest = parseManifest(yaml, join(shown, 'plugin.yaml'));
  return {
    manifest,
    folder,
    load: async () => importDefault(folder, await findMain(folder, manifest)),
    declaredObjects: () => readDeclaredObjects(folder, manifest.revision),
    reopen: () => openPluginFolder(path),
    assets: () => assetsOf(folder),
  };
}

/**
 * Returns the real path of the file that exports the plugin. `folder` must be a real path. Rejects when the file is
 * missing, or outside of the folder.
 */
export async function findMain(folder: string, { main }: PluginManifest): Promise<string> {
  return present(fileInside(folder, main), `${main} does not exist: build the plugin first`);
}

async function assetsOf(folder: string): Promise<string | undefined> {
  try {
    return await fileInside(folder, assetsFolder);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/**
 * Resolves with the result of reading a path. If the path does not exist, rejects with the given message in place of
 * the system's message.
 */
async function present<V>(reading: Promise<V>, message: string): Promise<V> {
  return reading.catch((error: unknown) => {
    throw isMissing(error) ? new Error(message) : error;
  });
}

/** True for errors about a path that does not exist, also when a parent of the path is not a folder. */
function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT', 'ENOTDIR');
}

async function importDefault(folder: string, file: string): Promise<unknown> {
  const module = await importPluginModule(folder, file);
  const main = isJsonObject(module) ? module['default'] : undefined;
  if (main === undefined) throw new Error(`${file} has no default export`);
  return main;
}
