import { isJsonObject } from '@homeostat/controller-runtime/api';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readPackageJson } from './package-json.ts';

let found: readonly string[] | undefined;

/**
 * Returns the real paths of the folders of this package and of all its dependencies. They are inside a plugin's folder
 * if npm installed the host as a dependency of the plugin.
 */
export function hostFolders(): readonly string[] {
  found ??= findFolders(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
  return found;
}

function findFolders(root: string): readonly string[] {
  const folders = new Set([root]);
  // The loop also visits folders that it adds to the set.
  for (const folder of folders) for (const each of dependenciesOf(folder)) folders.add(each);
  return [...folders];
}

function dependenciesOf(folder: string): readonly string[] {
  const file = join(folder, 'package.json');
  if (!existsSync(file)) return [];
  const { dependencies, optionalDependencies, peerDependencies } = readPackageJson(file);
  const names = [dependencies, optionalDependencies, peerDependencies].flatMap((each) =>
    isJsonObject(each) ? Object.keys(each) : [],
  );
  return names.flatMap((name) => resolveFolder(folder, name) ?? []);
}

/** Returns the folder in which Node finds a package when a module in `from` imports it. */
function resolveFolder(from: string, name: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(candidate)) return realpathSync(candidate);
    if (folder === dirname(folder)) return undefined;
  }
}
