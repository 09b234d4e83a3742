import { mkdir, rename, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The packages that plugins import from the program that runs them. */
const packages = ['homeostat', '@homeostat/apiserver', '@homeostat/controller-runtime'];

/**
 * Lets the plugins of a folder find the packages of the host, by links in its `node_modules`: Node looks there for what a
 * plugin does not bring. So there is one copy of them, and it has the host's version.
 */
export async function linkHost(pluginsDir: string): Promise<void> {
  for (const name of packages) {
    const link = join(pluginsDir, 'node_modules', name);
    const target = dirname(dirname(fileURLToPath(import.meta.resolve(name))));
    await mkdir(dirname(link), { recursive: true });
    // In one step: a server may be loading a plugin at the moment.
    const made = `${link}.${process.pid}`;
    await symlink(target, made, 'junction');
    await rename(made, link);
  }
}
