import semver from 'semver';
import { isPackageName, isRegistryRange } from './registry-range.ts';
import { isJsonObject } from '../text/yaml-mapping.ts';

/** The keys that identify a package and when it is installed. Keys with its origin are dropped. */
const keptKeys: readonly string[] = [
  'name',
  'version',
  'integrity',
  'dependencies',
  'optionalDependencies',
  'peerDependencies',
  'peerDependenciesMeta',
  'bundleDependencies',
  'inBundle',
  'optional',
  'peer',
  'dev',
  'devOptional',
  'engines',
  'os',
  'cpu',
  'libc',
  'bin',
  'hasInstallScript',
  'deprecated',
];

const rangeKeys = ['dependencies', 'optionalDependencies', 'peerDependencies'] as const;

/**
 * A lock of npm for a project that asks for these dependencies: the same versions with the same digests, from npm's
 * configured registry, whatever sources the lock names. Throws Error for a lock that leads out of `node_modules`, has
 * links, has versions or ranges that the registry does not have, or is older than npm 7.
 */
export function cleanLock(lock: unknown, asked: object): object {
  const packages = isJsonObject(lock) ? lock['packages'] : undefined;
  if (!isJsonObject(packages)) throw new Error('the lock file has no "packages": write it with npm 7 or newer');
  const entries = Object.entries(packages).filter(([path]) => path !== '');
  return {
    lockfileVersion: 3,
    requires: true,
    packages: { '': asked, ...Object.fromEntries(entries.map(([path, entry]) => [path, cleanEntry(path, entry)])) },
  };
}

function cleanEntry(path: string, entry: unknown): object {
  const shown = `the lock file: packages: ${JSON.stringify(path)}`;
  if (!isPlace(path)) throw new Error(`${shown}: is not a package below node_modules`);
  if (!isJsonObject(entry) || entry['link'] === true)
    throw new Error(`${shown}: is a link, not a package of the registry`);
  checkIdentity(shown, entry);
  for (const key of rangeKeys) checkRanges(`${shown}: ${key}`, entry[key]);
  return Object.fromEntries(Object.entries(entry).filter(([key]) => keptKeys.includes(key)));
}

/** Returns true for the path `node_modules/<package>`, also below another package. */
function isPlace(path: string): boolean {
  const [start, ...names] = path.split(/(?:^|\/)node_modules\//);
  return start === '' && names.length > 0 && names.every(isPackageName);
}

/** npm would fetch a URL in place of a version. */
function checkIdentity(shown: string, { name, version }: Readonly<Record<string, unknown>>): void {
  if (name !== undefined && (typeof name !== 'string' || !isPackageName(name)))
    throw new Error(`${shown}: name: ${JSON.stringify(name)} is not the name of a package`);
  if (typeof version !== 'string' || semver.valid(version, { loose: true }) === null)
    throw new Error(`${shown}: version: ${JSON.stringify(version)} is not a version of a package of the registry`);
}

function checkRanges(shown: string, ranges: unknown): void {
  if (ranges === undefined) return;
  if (!isJsonObject(ranges)) throw new Error(`${shown}: must map names of packages to ranges of versions`);
  for (const [name, range] of Object.entries(ranges)) {
    if (!isPackageName(name)) throw new Error(`${shown}: ${JSON.stringify(name)} is not the name of a package`);
    if (typeof range === 'string' && isRegistryRange(range)) continue;
    throw new Error(`${shown}: ${name}: ${JSON.stringify(range)} is not a range of versions of the registry`);
  }
}
