import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openPluginFolder } from '../package/plugin-folder.ts';
import type { PluginSource } from '../package/plugin-source.ts';
import { hasCode } from '../text/error-text.ts';

/**
 * Returns the sorted names of the plugins in a folder of plugins; an empty list when the folder does not exist. Skips
 * names that begin with a dot, which are folders of installations and removals in progress, and `node_modules`, which
 * has the packages that plugins import.
 */
export async function installedPlugins(pluginsDir: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(pluginsDir, { withFileTypes: true });
    const names = entries.filter((each) => each.isDirectory() || each.isSymbolicLink()).map(({ name }) => name);
    return names.filter((name) => !name.startsWith('.') && name !== 'node_modules').sort();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

/**
 * Opens the plugin in the folder `name`. Rejects when {@link openPluginFolder} rejects, and when the plugin's manifest
 * has another name.
 */
export async function openInstalled(pluginsDir: string, name: string): Promise<PluginSource> {
  const folder = join(pluginsDir, name);
  const source = await openPluginFolder(folder);
  if (source.manifest.name !== name)
    throw new Error(`${folder}: the folder of plugin "${source.manifest.name}" must have the name of the plugin`);
  return source;
}
