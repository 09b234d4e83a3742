import type { DebugPage } from '@homeostat/apiserver';
import { realpathSync, statSync } from 'node:fs';
import { ConfigError } from './config-error.ts';
import type { ServerApi } from '../remote/server-api.ts';

/** The content of `/debug/plugins-dir`, about the server's folder of plugins. */
interface ServedFolder {
  /** The server's absolute path; null for a server without such a folder. */
  readonly path: string | null;
  /** Identifies the folder whatever its path; null when it is gone. */
  readonly id: string | null;
  /** The path without links; null when the folder is gone. */
  readonly realPath: string | null;
}

/** @throws ConfigError when there is no folder at the path. */
export function checkPluginsDir(path: string): void {
  if (folderId(path) === undefined)
    throw new ConfigError(`--plugins-dir: ${path}: there is no such folder: create it first, or name another one`);
}

/**
 * `/debug/plugins-dir`: the folder of installed plugins, so that a command that installs one can check that it has the
 * same folder.
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
  // A file system may show one folder with different numbers to two processes, for example in two containers.
  if (served.id !== folderId(path) && served.realPath !== realpathSync(path))
    throw new Error(`--plugins-dir: ${path} is not the server's folder of plugins, which is ${served.path}`);
}

/** Equal for all paths to one folder, even if it is mounted at several places. */
function folderId(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found?.isDirectory() === true ? `${found.dev}:${found.ino}` : undefined;
}
