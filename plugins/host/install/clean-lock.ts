import semver from 'semver';
import { isPackageName, isRegistryRange } from './registry-range.ts';
import { isJsonObject } from '../text/yaml-mapping.ts';

/**
 * The keys of a lock entry that stay: they identify and describe the package. Keys that name its origin, such as
 * `resolved`, are dropped.
 */
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
 * Returns an npm lock for a project with the dependencies `asked`: the versions and digests of the given lock, without
 * its sources, so that npm uses its configured registry. Throws Error when the lock has paths outside of
 * `node_modules`, links, or versions and ranges that cannot come from a registry, or when its format is older than npm
 * 7.
 */
export function cleanLock(lock: unknown, asked: object): object {
  const packages = isJsonObject(lock) ? lock['packages'] : undefined;
  if (!isJsonObject(packages)) throw new Error('the lock file has no "packages": create it with npm 7 or newer');
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
    throw new Error(`${shown}: is a link, not a package in npm's registry`);
  checkIdentity(shown, entry);
  for (const key of rangeKeys) checkRanges(`${shown}: ${key}`, entry[key]);
  return Object.fromEntries(Object.entries(entry).filter(([key]) => keptKeys.includes(key)));
}

/** Returns true for the path of a package in `node_modules`, or in the `node_modules` of another package. */
function isPlace(path: string): boolean {
  const [start, ...names] = path.split(/(?:^|\/)node_modules\//);
  return start === '' && names.length > 0 && names.every(isPackageName);
}

/**
 * Throws for an invalid name, and for a version that is not a plain version: npm would fetch a version that is a URL.
 */
function checkIdentity(shown: string, { name, version }: Readonly<Record<string, unknown>>): void {
  if (name !== undefined && (typeof name !== 'string' || !isPackageName(name)))
    throw new Error(`${shown}: name: ${JSON.stringify(name)} is not the name of a package`);
  if (typeof version !== 'string' || semver.valid(version, { loose: true }) === null)
    throw new Error(`${shown}: version: ${JSON.stringify(version)} is not a version such as 1.2.3`);
}

function checkRanges(shown: string, ranges: unknown): void {
  if (ranges === undefined) return;
  if (!isJsonObject(ranges)) throw new Error(`${shown}: must map names of packages to ranges of versions`);
  for (const [name, range] of Object.entries(ranges)) {
    if (!isPackageName(name)) throw new Error(`${shown}: ${JSON.stringify(name)} is not the name of a package`);
    if (typeof range === 'string' && isRegistryRange(range)) continue;
    throw new Error(`${shown}: ${name}: ${JSON.stringify(range)} is not a range of versions, a tag or an alias`);
  }
}
