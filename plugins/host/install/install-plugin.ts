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
import type { StageOptions } from './stage-plugin.ts';

/** The packages that plugins import from the program that runs them. */
const hostPackages = ['homeostat', '@homeostat/apiserver', '@homeostat/controller-runtime'];

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

/**
 * Makes the packages of the host available to the plugins of a folder, by links in its `node_modules`, where Node
 * looks for packages that a plugin does not bring. So there is one copy of them, with the host's version.
 */
async function linkHost(pluginsDir: string): Promise<void> {
  for (const name of hostPackages) {
    const link = join(pluginsDir, 'node_modules', name);
    const target = dirname(dirname(dirname(fileURLToPath(import.meta.resolve(name)))));
    await mkdir(dirname(link), { recursive: true });
    // Renamed in one step, because a server may be loading a plugin at the moment.
    const made = `${link}.${process.pid}`;
    await symlink(target, made, 'junction');
    await rename(made, link);
  }
}
