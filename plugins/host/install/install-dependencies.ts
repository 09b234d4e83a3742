import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import semver from 'semver';
import type { IsolatedNpm } from './run-npm.ts';
import { cleanLock } from './clean-lock.ts';
import { isPackageName, isRegistryRange } from './registry-range.ts';
import { readBounded } from '../text/read-bounded.ts';
import { isJsonObject } from '../text/yaml-mapping.ts';

export interface DependencyParts {
  readonly npm: IsolatedNpm;
  /** An empty folder on the same file system as the plugin's folder. */
  readonly project: string;
  /** True to allow the packages to run their install scripts. */
  readonly runScripts: boolean;
  /** The file names of lock files. The first that exists is used, if no dependency is in `node_modules` yet. */
  readonly locks: readonly string[];
}

type Dependencies = Readonly<Record<string, string>>;

/** Returns true for a package that a plugin imports from its host, so that both have the same copy. */
const isOfHost = (name: string): boolean => name === 'homeostat' || name.startsWith('@homeostat/');

/**
 * The entries of `node_modules` that are removed from the copy of a plugin before the installation: the host's
 * packages, programs, and npm's hidden lock file, which describes the folder in which the author ran npm.
 */
const notThePlugins = ['homeostat', '@homeostat', '.bin', '.package-lock.json'];

/**
 * Installs the missing dependencies of a plugin's folder from npm's registry. npm works in a separate project, which
 * has only the names, ranges and locked versions of these dependencies. Rejects when a dependency does not come from
 * npm's registry, for example when `package.json` declares a URL or a path.
 */
export async function installDependencies(folder: string, parts: DependencyParts): Promise<void> {
  await removeNotThePlugins(folder);
  const { dependencies, optionalDependencies } = await readDependencies(folder);
  const isBrought = await broughtBy(folder);
  const asked = {
    dependencies: pick(dependencies, (name) => !isBrought(name)),
    optionalDependencies: pick(optionalDependencies, (name) => !isBrought(name)),
  };
  if (countOf(asked) === 0) return;
  const isWhole = countOf(asked) === countOf({ dependencies, optionalDependencies });
  const given = isWhole ? await readLock(folder, parts.locks) : undefined;
  // This call refuses an unsafe lock file, before npm runs.
  const lock = given === undefined ? undefined : cleanLock(given, asked);
  await requireNpm(parts.npm);
  const { project } = parts;
  await writeJson(join(project, 'package.json'), { private: true, ...asked });
  if (lock !== undefined) await writeJson(join(project, 'package-lock.json'), lock);
  // When the folder already has some packages, `nested` lets npm put the dependencies of each added package below this
  // package, so that the packages that are already present do not change.
  await runInstall(parts, isWhole ? [] : ['--install-strategy=nested']);
  await mergeFolders(join(project, 'node_modules'), join(folder, 'node_modules'));
  await removeNotThePlugins(folder, ['homeostat', '@homeostat']);
}

/** The first npm version that has all options of `registryOnly`. An older npm ignores options that it does not know. */
const oldestNpm = '11.14.0';

/** Options of npm that allow only packages of npm's registry, also for the dependencies of packages. */
const registryOnly = ['git', 'remote', 'file', 'directory'].map((type) => `--allow-${type}=none`);

async function requireNpm(npm: IsolatedNpm): Promise<void> {
  const version = await npm.version();
  if (semver.valid(version) !== null && semver.gte(version, oldestNpm)) return;
  const why = 'an older npm may fetch packages from outside the registry';
  const needed = `the plugin has dependencies, which need npm ${oldestNpm} or newer`;
  throw new Error(`${needed}, not ${version}: ${why}. Run npm install -g npm@11`);
}

async function runInstall({ npm, project, runScripts }: DependencyParts, more: readonly string[]): Promise<void> {
  const flags = ['--ignore-scripts', '--omit=dev', '--omit=peer', '--no-audit', '--no-fund', '--install-links'];
  await npm.run(['install', ...flags, ...registryOnly, ...more], { project });
  if (runScripts) await npm.run(['rebuild', '--dangerously-allow-all-scripts'], { project, registries: false });
}

async function removeNotThePlugins(folder: string, names: readonly string[] = notThePlugins): Promise<void> {
  for (const name of names) await rm(join(folder, 'node_modules', name), { recursive: true, force: true });
}

async function broughtBy(folder: string): Promise<(name: string) => boolean> {
  const brought = new Set<string>();
  for (const name of await namesIn(join(folder, 'node_modules'))) {
    if (!name.startsWith('@')) brought.add(name);
    else for (const below of await namesIn(join(folder, 'node_modules', name))) brought.add(`${name}/${below}`);
  }
  return (name) => brought.has(name);
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return (await isThere(folder)) ? readdir(folder) : [];
}

export async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

interface ReadDependencies {
  readonly dependencies: Dependencies;
  readonly optionalDependencies: Dependencies;
}

/**
 * The dependencies in package.json without the host's packages. npm may list an optional dependency under both
 * `dependencies` and `optionalDependencies`; here it counts only as optional.
 */
async function readDependencies(folder: string): Promise<ReadDependencies> {
  const manifest = await readJson(join(folder, 'package.json'));
  const optionalDependencies = checkDependencies(manifest['optionalDependencies'], 'optionalDependencies');
  const dependencies = checkDependencies(manifest['dependencies'], 'dependencies');
  return {
    dependencies: pick(dependencies, (name) => !isOfHost(name) && !Object.hasOwn(optionalDependencies, name)),
    optionalDependencies: pick(optionalDependencies, (name) => !isOfHost(name)),
  };
}

function countOf({ dependencies, optionalDependencies }: ReadDependencies): number {
  return Object.keys(dependencies).length + Object.keys(optionalDependencies).length;
}

function checkDependencies(value: unknown, key: string): Dependencies {
  const field = `package.json: ${key}`;
  if (value === undefined) return {};
  if (!isJsonObject(value)) throw new Error(`${field}: must map names of packages to ranges of versions`);
  const dependencies: Record<string, string> = {};
  for (const [name, range] of Object.entries(value)) {
    dependencies[name] = String(range);
    if (!isPackageName(name)) throw new Error(`${field}: ${JSON.stringify(name)} is not the name of a package`);
    if (isOfHost(name) || (typeof range === 'string' && isRegistryRange(range))) continue;
    const asked = `${name}: ${JSON.stringify(range)} is not a range of versions, a tag or an alias`;
    throw new Error(`${field}: ${asked}; include the package in the archive with "bundleDependencies"`);
  }
  return dependencies;
}

function pick(dependencies: Dependencies, wants: (name: string) => boolean): Dependencies {
  return Object.fromEntries(Object.entries(dependencies).filter(([name]) => wants(name)));
}

async function readLock(folder: string, names: readonly string[]): Promise<unknown> {
  for (const name of names) if (await isThere(join(folder, name))) return readJson(join(folder, name));
  return undefined;
}

/** The largest size of a JSON file that is read. Large lock files have 2 MiB. */
const maxJsonKiB = 4096;

/** Reads a JSON file. Returns an empty object when the file does not exist or contains no object. */
export async function readJson(file: string): Promise<Readonly<Record<string, unknown>>> {
  if (!(await isThere(file))) return {};
  const value: unknown = JSON.parse(await readBounded(file, maxJsonKiB, basename(file)));
  return isJsonObject(value) ? value : {};
}

async function writeJson(file: string, value: object): Promise<void> {
  await writeFile(file, JSON.stringify(value, undefined, 2));
}

/** Moves the entries of `from` that `to` does not have yet. */
async function mergeFolders(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of await namesIn(from)) {
    const target = join(to, name);
    if (!(await isThere(target))) await rename(join(from, name), target);
    else if (name.startsWith('@')) await mergeFolders(join(from, name), target);
  }
}
