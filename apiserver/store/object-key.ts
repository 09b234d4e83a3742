import { checkDnsSubdomain } from '@homeostat/controller-runtime/api';

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

/** The kind that a key belongs to; undefined when it is no key of an object. */
export function kindOfKey(key: string): StoredKind | undefined {
  const [root, registry, group = '', plural = '', ...names] = key.split('/');
  if (root !== '' || registry !== 'registry' || names.length < 1 || names.length > 2) return undefined;
  const segments = group === '' ? [plural, ...names] : [group, plural, ...names];
  const isKey = key.length <= maxKeyBytes && segments.every((segment) => checkDnsSubdomain(segment).length === 0);
  return isKey ? { group, plural } : undefined;
}

/** The namespace in an object's key; undefined when it has none. */
export function namespaceOfKey(key: string): string | undefined {
  const [, , , , namespace, name] = key.split('/');
  return name === undefined ? undefined : namespace;
}
