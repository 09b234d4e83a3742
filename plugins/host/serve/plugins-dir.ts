import type { DebugPage } from '@homeostat/apiserver';
import { realpathSync, statSync } from 'node:fs';
import { ConfigError } from './config-error.ts';
import type { ServerApi } from '../remote/server-api.ts';

/** The content of `/debug/plugins-dir`, about the server's folder of plugins. */
interface ServedFolder {
  /** The absolute path of the folder on the server's machine; null for a server without such a folder. */
  readonly path: string | null;
  /**
   * Identifies the folder by device and inode, so that it is the same for all paths of the folder; null when the folder
   * does not exist.
   */
  readonly id: string | null;
  /** The path without symbolic links; null when the folder does not exist. */
  readonly realPath: string | null;
}

/**
 * Checks the folder of `--plugins-dir`.
 * @throws ConfigError when there is no folder at the path.
 */
export function checkPluginsDir(path: string): void {
  if (folderId(path) === undefined)
    throw new ConfigError(`--plugins-dir: ${path}: there is no such folder: create it first, or name another one`);
}

/**
 * `/debug/plugins-dir`: the server's folder of installed plugins. A command that installs a plugin reads this page, to
 * check that the server uses the same folder as the command.
 */
export function pluginsDirPage(path: string | undefined): DebugPage {
  return {
    name: 'plugins-dir',
    index: (): ServedFolder => {
      const id = path === undefined ? undefined : folderId(path);
      if (path === undefined || id === undefined) return { path: path ?? null, id: null, realPath: null };
      return { path, id, realPath: realpathSync(path) };
    },
    item: () => undefined,
  };
}

/** Rejects when the folder is not the server's folder of plugins. */
export async function requireServersFolder(path: string, api: ServerApi): Promise<void> {
  const served = await api.get<ServedFolder>('/debug/plugins-dir');
  if (served.path === null)
    throw new Error('the server has no folder of plugins: start it with --plugins-dir (or HOMEOSTAT_PLUGINS_DIR)');
  // Compares the paths, too: one folder may have different device and inode numbers for two processes, for example in
  // two containers.
  if (served.id !== folderId(path) && served.realPath !== realpathSync(path))
    throw new Error(`--plugins-dir: ${path} is not the server's folder of plugins, which is ${served.path}`);
}

/**
 * Returns the device and inode of a folder. They are equal for all paths of the folder, even if it is mounted several
 * times.
 */
function folderId(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found?.isDirectory() === true ? `${found.dev}:${found.ino}` : undefined;
}
