import { randomUUID } from 'node:crypto';
import { mkdir, realpath, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { hostVersion } from '../text/host-version.ts';
import { isInside } from '../text/inside-folder.ts';
import { installedPlugins } from './installed-plugins.ts';
import { linkHost } from './link-host.ts';
import { checkRequires } from '../manifest/manifest.ts';
import type { PluginManifest } from '../manifest/manifest.ts';
import { findMain, openPluginFolder } from '../package/plugin-folder.ts';
import { removeFolder } from '../text/remove-folder.ts';
import { stagePlugin } from './stage-plugin.ts';
import type { StageOptions } from './stage-plugin.ts';

/** The installed plugin, and the one that it replaced. */
export interface InstalledPlugin {
  readonly manifest: PluginManifest;
  readonly replaced: PluginManifest | undefined;
}

/**
 * Puts a plugin under its name into an existing folder of plugins. It is completed under a name that no server reads,
 * checked, and then renamed; if that fails, the previous folder is restored. None of its code runs.
 */
export async function installPlugin(
  source: string,
  pluginsDir: string,
  options: StageOptions,
): Promise<InstalledPlugin> {
  await checkApart(source, pluginsDir);
  const work = join(await realpath(pluginsDir), `.${randomUUID()}.partial`);
  await mkdir(work);
  try {
    const staged = await stagePlugin(source, work, options);
    const { manifest } = await openPluginFolder(staged, source);
    checkRequires(manifest, hostVersion());
    await findMain(staged, manifest);
    await linkHost(pluginsDir);
    return { manifest, replaced: await putInPlace(staged, pluginsDir, manifest.name) };
  } finally {
    await removeFolder(work);
  }
}

/** A folder that contains all plugins is not one of them. */
async function checkApart(source: string, pluginsDir: string): Promise<void> {
  const folder = await realpath(source).catch(() => undefined);
  if (folder === undefined || !isInside(folder, await realpath(pluginsDir))) return;
  throw new Error(`${source}: contains the folder of installed plugins, ${pluginsDir}: choose another --plugins-dir`);
}

/** Deletes a plugin's folder, if it exists. */
export async function removePlugin(name: string, pluginsDir: string): Promise<void> {
  if (!(await installedPlugins(pluginsDir)).includes(name)) return;
  const removed = join(pluginsDir, `.${randomUUID()}.removed`);
  await rename(join(pluginsDir, name), removed);
  await removeFolder(removed);
}

async function putInPlace(staged: string, pluginsDir: string, name: string): Promise<PluginManifest | undefined> {
  const folder = join(pluginsDir, name);
  if (!(await installedPlugins(pluginsDir)).includes(name)) {
    await rename(staged, folder);
    return undefined;
  }
  const replaced = await openPluginFolder(folder).catch(() => undefined);
  const former = join(pluginsDir, `.${randomUUID()}.former`);
  await rename(folder, former);
  try {
    await rename(staged, folder);
  } catch (error) {
    await rename(former, folder);
    throw error;
  }
  await removeFolder(former);
  return replaced?.manifest;
}
