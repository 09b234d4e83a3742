import { cp, mkdir, opendir, readdir, rm, realpath, stat } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { fileInside } from '../text/inside-folder.ts';
import { installDependencies, isThere, readJson } from './install-dependencies.ts';
import { openPluginFolder } from '../package/plugin-folder.ts';
import { IsolatedNpm } from './run-npm.ts';
import { unpackArchive } from './unpack-archive.ts';

export interface StageParts {
  /** True to allow packages to run their install scripts. */
  readonly runScripts: boolean;
  /** The environment, from which npm gets only the variables that it needs. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Matches a package of a registry: `name` or `@scope/name`, with an optional `@version`, `@range` or `@tag`. Does not
 * match anything that npm would take for a URL, a repository or an option.
 */
const packageSpec = /^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*(?:@[\w.^~*<>=| -]+)?$/i;

/**
 * By npm's rule, a published package may lock its dependencies only with `npm-shrinkwrap.json`; a project may also use
 * `package-lock.json`.
 */
const packageLocks = ['npm-shrinkwrap.json'];
const projectLocks = [...packageLocks, 'package-lock.json'];

/**
 * Copies a plugin into a new folder below `work`, and resolves with the path of that folder. The source is a folder, a
 * `.tgz`, or a package of npm's configured registry. `work` is an empty folder without links in its path. npm installs
 * missing dependencies. Rejects when a link of the plugin leads out of its folder.
 */
export async function stagePlugin(source: string, work: string, parts: StageParts): Promise<string> {
  const { runScripts, environment } = parts;
  const [folder, project] = [join(work, 'plugin'), join(work, 'npm')];
  for (const each of [folder, project]) await mkdir(each);
  const npm = new IsolatedNpm(environment);
  try {
    const locks = await copySource(source, folder, { npm, project });
    await checkLinks(folder);
    await installDependencies(folder, { npm, project, runScripts, locks });
    await checkLinks(folder);
    return folder;
  } finally {
    await npm.dispose();
  }
}

/** npm, and the folder in which it writes its result. */
interface NpmParts {
  readonly npm: IsolatedNpm;
  /** The folder for the result, which is empty at first. */
  readonly project: string;
}

/**
 * Copies a plugin into an empty folder: from a folder, a `.tgz`, or a package of npm's registry. Resolves with the
 * names of the lock files that may lock its dependencies.
 */
export async function copySource(source: string, folder: string, npm: NpmParts): Promise<readonly string[]> {
  const found = await stat(source).catch(() => undefined);
  if (found?.isDirectory() === true) return copyFolder(source, folder, npm);
  if (found?.isFile() === true) await unpackArchive(source, folder);
  else if (packageSpec.test(source)) await fetchPackage(source, folder, npm);
  else throw new Error(`${source}: is not a folder, a file, or the name of a package`);
  return packageLocks;
}

/**
 * Copies the files that npm would publish. npm needs a name and a version; without them, copies everything except
 * hidden files, `data` and `node_modules`.
 */
async function copyFolder(shownAs: string, folder: string, npm: NpmParts): Promise<readonly string[]> {
  const source = await realpath(shownAs);
  const { manifest } = await openPluginFolder(source, shownAs);
  const { name, version } = await readJson(join(source, 'package.json'));
  if (name === undefined || version === undefined) {
    const filter = (path: string): boolean => !isOfWork(relative(source, path));
    await cp(source, folder, { recursive: true, verbatimSymlinks: true, filter });
    return projectLocks;
  }
  await fetchPackage(source, folder, npm);
  for (const path of ['plugin.yaml', manifest.main]) {
    if ((await isThere(join(source, path))) && !(await isThere(join(folder, path))))
      throw new Error(`${shownAs}: npm pack leaves out ${path}: name it in "files" of package.json`);
  }
  return packageLocks;
}

/**
 * True for paths that are not part of a plugin: `node_modules`; hidden names, such as `.git`, at any depth; and `data`,
 * the database of a server that was started in the folder.
 */
function isOfWork(path: string): boolean {
  return ['data', 'node_modules'].includes(path) || basename(path).startsWith('.');
}

/** Throws when a link leads out of the folder, because only files inside the folder are checked and installed. */
async function checkLinks(folder: string): Promise<void> {
  // This does not use a recursive readdir, which would block the event loop for thousands of files.
  const open = [''];
  for (let below = open.pop(); below !== undefined; below = open.pop()) {
    for await (const entry of await opendir(join(folder, below))) {
      const path = join(below, entry.name);
      if (entry.isDirectory()) open.push(path);
      else if (entry.isSymbolicLink()) await fileInside(folder, path);
      else if (!entry.isFile()) throw new Error(`${path}: is not a file`);
    }
  }
}

async function fetchPackage(spec: string, folder: string, parts: NpmParts): Promise<void> {
  const tarball = await packWithNpm(spec, parts);
  await unpackArchive(tarball, folder);
  await rm(tarball);
}

/**
 * Packs a folder, or a package of npm's registry, by `npm pack`. Resolves with the path of the `.tgz`, which is in the
 * folder `project`. No script of the package runs.
 */
export async function packWithNpm(spec: string, { npm, project }: NpmParts): Promise<string> {
  await npm.run(['pack', spec, '--ignore-scripts', '--pack-destination', project], { project });
  const tarball = (await readdir(project)).find((name) => name.endsWith('.tgz'));
  if (tarball === undefined) throw new Error(`npm packed nothing for ${spec}`);
  return join(project, tarball);
}
