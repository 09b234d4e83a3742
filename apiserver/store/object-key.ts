import { checkDnsSubdomain, checkName } from '@homeostat/controller-runtime/api';

/**
 * The names that identify a kind in keys. The version is not one of them, because all versions of a kind have the same
 * objects.
 */
export interface StoredKind {
  readonly group: string;
  readonly plural: string;
}

/** The maximum number of bytes of a key: the length of the key columns in databases. */
const maxKeyBytes = 700;

/**
 * Returns the prefix of the keys of a kind. It ends with a slash, because a plural may be the prefix of another plural.
 */
export function keyPrefixOf({ group, plural }: StoredKind): string {
  return `/registry/${group}/${plural}/`;
}

/** The prefix of the names returned by {@link kindNameOf}. */
export const kindNamePrefix = 'kind:';

/** Returns the name to pass to `Store.numberOf`, which returns the number that identifies the kind in the database. */
export function kindNameOf({ group, plural }: StoredKind): string {
  return `${kindNamePrefix}${group}/${plural}`;
}

/** Returns the kind to which a key belongs; undefined when it is not the key of an object. */
export function kindOfKey(key: string): StoredKind | undefined {
  const [root, registry, group = '', plural = '', ...names] = key.split('/');
  if (root !== '' || registry !== 'registry' || names.length < 1 || names.length > 2) return undefined;
  const name = names.pop() ?? '';
  const domains = group === '' ? [plural, ...names] : [group, plural, ...names];
  if (key.length > maxKeyBytes || checkName(name, 'path').length > 0 || name === '') return undefined;
  return domains.every((domain) => checkDnsSubdomain(domain).length === 0) ? { group, plural } : undefined;
}

/** Returns the namespace in the key of an object; undefined when the object has none. */
export function namespaceOfKey(key: string): string | undefined {
  const [, , , , namespace, name] = key.split('/');
  return name === undefined ? undefined : namespace;
}
