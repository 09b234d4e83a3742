import { mkdir, rename, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The packages that plugins import from the program that runs them. */
const packages = ['homeostat', '@homeostat/apiserver', '@homeostat/controller-runtime'];

/**
 * Makes the packages of the host available to the plugins of a folder, by links in its `node_modules`, where Node
 * looks for packages that a plugin does not bring. So there is one copy of them, with the host's version.
 */
export async function linkHost(pluginsDir: string): Promise<void> {
  for (const name of packages) {
    const link = join(pluginsDir, 'node_modules', name);
    const target = dirname(dirname(fileURLToPath(import.meta.resolve(name))));
    await mkdir(dirname(link), { recursive: true });
    // Renamed in one step, because a server may be loading a plugin at the moment.
    const made = `${link}.${process.pid}`;
    await symlink(target, made, 'junction');
    await rename(made, link);
  }
}
