import { checkDnsSubdomain, checkName } from '@homeostat/controller-runtime/api';

/** The parts of a kind in keys and in the store's names: all its versions are the same objects. */
export interface StoredKind {
  readonly group: string;
  readonly plural: string;
}

/** The length of the databases' key columns. */
const maxKeyBytes = 700;

/** The prefix of a kind's keys; it ends in a slash, since a plural may be the prefix of another. */
export function keyPrefixOf({ group, plural }: StoredKind): string {
  return `/registry/${group}/${plural}/`;
}

/** The prefix of kinds among the store's names. */
export const kindNamePrefix = 'kind:';

/** The name under which the store numbers a kind. */
export function kindNameOf({ group, plural }: StoredKind): string {
  return `${kindNamePrefix}${group}/${plural}`;
}

/** The kind that a key belongs to; undefined when it is not the key of an object. */
export function kindOfKey(key: string): StoredKind | undefined {
  const [root, registry, group = '', plural = '', ...names] = key.split('/');
  if (root !== '' || registry !== 'registry' || names.length < 1 || names.length > 2) return undefined;
  const name = names.pop() ?? '';
  const domains = group === '' ? [plural, ...names] : [group, plural, ...names];
  if (key.length > maxKeyBytes || checkName(name, 'path').length > 0 || name === '') return undefined;
  return domains.every((domain) => checkDnsSubdomain(domain).length === 0) ? { group, plural } : undefined;
}

/** The namespace in an object's key; undefined when it has none. */
export function namespaceOfKey(key: string): string | undefined {
  const [, , , , namespace, name] = key.split('/');
  return name === undefined ? undefined : namespace;
}
