import { execFile } from 'node:child_process';
import { cp, lstat, mkdir, mkdtemp, readFile, readdir, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { fileInside } from './inside-folder.ts';
import { openPluginFolder } from './plugin-folder.ts';
import { readTarball } from './read-tarball.ts';

export interface StageOptions {
  /** Let packages run their install scripts. */
  readonly runScripts: boolean;
}

/** A package of a registry: `name`, `@scope/name`, with `@version`, `@range` or `@tag`. Nothing that npm would take for a URL, a repository or an option. */
const packageSpec = /^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*(?:@[\w.^~*<>=| -]+)?$/i;

/**
 * Copies a plugin into an empty folder (a real path): from a folder, a `.tgz`, or a package of the registry that npm is set up for. Packages
 * that it depends on and did not bring are installed by npm. Rejects where anything of it leads out of the folder.
 */
export async function stagePlugin(source: string, folder: string, options: StageOptions): Promise<void> {
  const found = await stat(source).catch(() => undefined);
  if (found?.isDirectory() === true) await copyFolder(await realpath(source), folder, source);
  else if (found?.isFile() === true) await unpack(source, folder);
  else if (packageSpec.test(source)) await fetchPackage(source, folder);
  else throw new Error(`${source}: is no folder, no file and no name of a package`);
  for (const path of ofHost) await rm(join(folder, path), { recursive: true, force: true });
  await installDependencies(folder, options);
}

/** What a plugin gets from the host that runs it, of which there is one copy. */
const isOfHost = (name: string): boolean => name === 'homeostat' || name.startsWith('@homeostat/');

/** Of what a plugin brings: what is the host's, and programs, some of which are links to it. */
const ofHost = ['homeostat', '@homeostat', '.bin'].map((name) => join('node_modules', name));

/** What npm would publish; without a name and a version, which npm needs, what belongs to no work with the folder. */
async function copyFolder(source: string, folder: string, shownAs: string): Promise<void> {
  const { manifest } = await openPluginFolder(source, shownAs);
  const { name, version } = await readPackage(source);
  if (name === undefined || version === undefined) {
    const filter = (path: string): boolean => !isOfWork(relative(source, path));
    await cp(source, folder, { recursive: true, verbatimSymlinks: true, filter });
    return checkLinks(folder);
  }
  await fetchPackage(source, folder);
  for (const path of ['plugin.yaml', manifest.main]) {
    if ((await isThere(join(source, path))) && !(await isThere(join(folder, path))))
      throw new Error(`${shownAs}: npm pack leaves out ${path}: name it in "files" of package.json`);
  }
}

/** Hidden names, as `.git`, anywhere; `data` is where a server that was started in the folder keeps its database. */
function isOfWork(path: string): boolean {
  return ['data', 'node_modules'].includes(path) || basename(path).startsWith('.');
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

interface Package {
  readonly name?: string;
  readonly version?: string;
  readonly dependencies?: object;
}

/** Empty where there is none. */
async function readPackage(folder: string): Promise<Package> {
  const file = join(folder, 'package.json');
  return (await isThere(file)) ? (JSON.parse(await readFile(file, 'utf8')) as Package) : {};
}

/** What is run later must be what was installed: a link that leads elsewhere is refused. */
async function checkLinks(folder: string): Promise<void> {
  for (const path of await readdir(folder, { recursive: true })) {
    const found = await lstat(join(folder, path));
    if (found.isSymbolicLink()) await fileInside(folder, path);
    else if (!found.isFile() && !found.isDirectory()) throw new Error(`${path}: is no file`);
  }
}

/** npm packs everything into one folder, `package` by habit. */
async function unpack(file: string, folder: string): Promise<void> {
  try {
    for (const { path, bytes } of await readTarball(await readFile(file))) {
      const inside = path.split('/').slice(1).join(sep);
      if (inside === '') throw new Error(`${path}: must be in a folder, as npm packs it`);
      await mkdir(dirname(join(folder, inside)), { recursive: true });
      await writeFile(join(folder, inside), bytes);
    }
  } catch (cause) {
    throw new Error(`${file}: cannot be unpacked`, { cause });
  }
}

async function fetchPackage(spec: string, folder: string): Promise<void> {
  const temporary = await mkdtemp(join(tmpdir(), 'homeostat-'));
  try {
    await npm(['pack', spec, '--ignore-scripts', '--pack-destination', temporary], temporary);
    const tarball = (await readdir(temporary)).find((name) => name.endsWith('.tgz'));
    if (tarball === undefined) throw new Error(`npm packed nothing for ${spec}`);
    await unpack(join(temporary, tarball), folder);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function installDependencies(folder: string, { runScripts }: StageOptions): Promise<void> {
  const manifest = await readPackage(folder);
  const dependencies = Object.entries(manifest.dependencies ?? {}).filter(([name]) => !isOfHost(name));
  const brought = await Promise.all(dependencies.map(([name]) => isThere(join(folder, 'node_modules', name))));
  if (!brought.includes(false)) return;
  // Nothing of it is looked at after this: what a plugin is, its plugin.yaml says.
  const asked = { ...manifest, dependencies: Object.fromEntries(dependencies) };
  await writeFile(join(folder, 'package.json'), JSON.stringify(asked, undefined, 2));
  const scripts = runScripts ? [] : ['--ignore-scripts'];
  await npm(['install', '--omit=dev', '--omit=peer', '--no-audit', '--no-fund', ...scripts], folder);
  await checkLinks(folder);
}

async function npm(args: readonly string[], cwd: string): Promise<void> {
  try {
    await promisify(execFile)('npm', [...args], { cwd });
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string };
    const told = stderr.split('\n').filter((line) => /^npm (?:ERR!|error)/.test(line));
    throw new Error(`npm ${args[0]} failed: ${told.slice(0, 5).join(' ') || message}`, { cause: error });
  }
}
