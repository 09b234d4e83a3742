import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findMain, openPluginFolder } from '../package/plugin-folder.ts';
import { readJson } from './install-dependencies.ts';
import { IsolatedNpm } from './run-npm.ts';
import type { Environment } from './run-npm.ts';
import { copySource, packWithNpm } from './stage-plugin.ts';

/**
 * Packs a built plugin from a folder, a `.tgz` or a package of npm's registry, and calls `use` with the path of the
 * new `.tgz`, which is deleted afterwards. The archive has the files that npm would publish. Hidden files, `data`
 * and `node_modules` of a folder are left out, too, if the folder's package.json has no name or no version. No script
 * runs. Rejects with the problem of the folder or the package.
 */
export async function packPlugin<R>(
  source: string,
  environment: Environment,
  use: (archive: string) => Promise<R>,
): Promise<R> {
  const work = await realpath(await mkdtemp(join(tmpdir(), 'homeostat-pack-')));
  const npm = new IsolatedNpm(environment);
  try {
    const [folder, project] = [join(work, 'plugin'), join(work, 'npm')];
    for (const each of [folder, project]) await mkdir(each);
    await copySource(source, folder, { npm, project });
    const { manifest } = await openPluginFolder(folder, source);
    await findMain(folder, manifest);
    const { name, version } = manifest;
    // npm packs only packages with a name and a version. The package.json of a plugin may lack both.
    const packageJson = { name, version, ...(await readJson(join(folder, 'package.json'))) };
    await writeFile(join(folder, 'package.json'), JSON.stringify(packageJson));
    return await use(await packWithNpm(folder, { npm, project }));
  } finally {
    await npm.dispose();
    await rm(work, { recursive: true, force: true });
  }
}
