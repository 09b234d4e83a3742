import { isMapping } from './yaml-mapping.ts';

/** A package in its place below `node_modules`. */
const place = /^node_modules\/(?:@[^/]+\/)?[^/@.][^/]*(?:\/node_modules\/(?:@[^/]+\/)?[^/@.][^/]*)*$/;

/** What of an entry says which package it is, and when it is wanted; not where it is. */
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

/**
 * A lock of npm for a project that asks for these dependencies: the same versions with the same digests, from the registry
 * that npm is set up for, whatever the lock says of where they are. Throws Error for a lock that leads out of `node_modules`, has
 * links, or is older than npm 7.
 */
export function cleanLock(lock: unknown, asked: object): object {
  const packages = isMapping(lock) ? lock['packages'] : undefined;
  if (!isMapping(packages)) throw new Error('the lock file has no "packages": write it by npm 7 or newer');
  const entries = Object.entries(packages).filter(([path]) => path !== '');
  return {
    lockfileVersion: 3,
    requires: true,
    packages: { '': asked, ...Object.fromEntries(entries.map(([path, entry]) => [path, cleanEntry(path, entry)])) },
  };
}

function cleanEntry(path: string, entry: unknown): object {
  const shown = `the lock file: packages: ${JSON.stringify(path)}`;
  if (!place.test(path)) throw new Error(`${shown}: is no package below node_modules`);
  if (!isMapping(entry) || entry['link'] === true)
    throw new Error(`${shown}: is a link, not a package of the registry`);
  return Object.fromEntries(Object.entries(entry).filter(([key]) => keptKeys.includes(key)));
}
