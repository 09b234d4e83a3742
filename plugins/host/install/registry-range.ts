import semver from 'semver';

const packageName = /^(?:@[a-z0-9~][\w.~-]*\/)?[a-z0-9~][\w.~-]*$/i;

/** Matches the name of an archive. npm takes such a text for a file, not for a tag. */
const archiveName = /\.(?:tgz|tar|tar\.gz)$/i;

export function isPackageName(name: string): boolean {
  return packageName.test(name);
}

/**
 * Returns true for a dependency that npm takes from the registry: a range, a tag, or `npm:name@range` for a package of
 * another name.
 */
export function isRegistryRange(range: string): boolean {
  const [, alias, aliasRange] = /^npm:((?:@[^/@]+\/)?[^/@]+)(?:@(.*))?$/.exec(range) ?? [];
  if (alias !== undefined) return isPackageName(alias) && isRegistryRange(aliasRange ?? '');
  return semver.validRange(range) !== null || (/^[a-z][\w.-]*$/i.test(range) && !archiveName.test(range));
}
