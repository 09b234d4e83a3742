import { randomUUID } from 'node:crypto';
import { mkdir, realpath, rename, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hostVersion } from '../text/host-version.ts';
import { isInside } from '../text/inside-folder.ts';
import { installedPlugins } from './installed-plugins.ts';
import { checkRequires } from '../manifest/manifest.ts';
import type { PluginManifest } from '../manifest/manifest.ts';
import { findMain, openPluginFolder } from '../package/plugin-folder.ts';
import { removeFolder } from '../text/remove-folder.ts';
import { stagePlugin } from './stage-plugin.ts';
import type { StageParts } from './stage-plugin.ts';

/** The packages that plugins import from the host. */
const hostPackages = ['homeostat', '@homeostat/apiserver', '@homeostat/controller-runtime'];

/** The installed plugin, and the one that it replaced. */
export interface InstalledPlugin {
  readonly manifest: PluginManifest;
  readonly replaced: PluginManifest | undefined;
}

/**
 * Installs a plugin under its name in an existing folder of plugins. The new folder is filled under a hidden name,
 * which servers skip, then checked, and then renamed. If the rename fails, the previous folder of the plugin is
 * restored. No code of the plugin runs, except install scripts of packages when `runScripts` is set.
 */
export async function installPlugin(source: string, pluginsDir: string, parts: StageParts): Promise<InstalledPlugin> {
  await checkApart(source, pluginsDir);
  const work = join(await realpath(pluginsDir), `.${randomUUID()}.partial`);
  await mkdir(work);
  try {
    const staged = await stagePlugin(source, work, parts);
    const { manifest } = await openPluginFolder(staged, source);
    checkRequires(manifest, hostVersion());
    await findMain(staged, manifest);
    await linkHost(pluginsDir);
    return { manifest, replaced: await putInPlace(staged, pluginsDir, manifest.name) };
  } finally {
    await removeFolder(work);
  }
}

/** Throws when the source folder contains the folder of plugins: the copy would contain itself. */
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

/**
 * Makes the packages of the host available to the plugins of a folder by links in its `node_modules`. Node looks there
 * for packages that a plugin does not bring, so that all plugins use the host's copy.
 */
async function linkHost(pluginsDir: string): Promise<void> {
  for (const name of hostPackages) {
    const link = join(pluginsDir, 'node_modules', name);
    const target = dirname(dirname(dirname(fileURLToPath(import.meta.resolve(name)))));
    await mkdir(dirname(link), { recursive: true });
    // The rename replaces an old link atomically, because a server may be loading a plugin at this moment.
    const made = `${link}.${process.pid}`;
    await symlink(target, made, 'junction');
    await rename(made, link);
  }
}
