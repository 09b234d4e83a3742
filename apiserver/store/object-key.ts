import { checkDnsSubdomain } from '@homeostat/controller-runtime/api';

/** What keys and the store's names know of a kind: all its versions are the same objects. */
export interface StoredKind {
  readonly group: string;
  readonly plural: string;
}

/** The length of the databases' key columns. */
const maxKeyBytes = 700;

/** Prefix of a kind's keys; it ends in a slash, since a plural may be the prefix of another. */
export function keyPrefixOf({ group, plural }: StoredKind): string {
  return `/registry/${group}/${plural}/`;
}

/** What the store's names of kinds begin with. */
export const kindNamePrefix = 'kind:';

/** Under which the store numbers a kind. */
export function kindNameOf({ group, plural }: StoredKind): string {
  return `${kindNamePrefix}${group}/${plural}`;
}

/** The kind that a key belongs to; undefined for what is no key of an object. */
export function kindOfKey(key: string): StoredKind | undefined {
  const [root, registry, group = '', plural = '', ...names] = key.split('/');
  if (root !== '' || registry !== 'registry' || names.length < 1 || names.length > 2) return undefined;
  const segments = group === '' ? [plural, ...names] : [group, plural, ...names];
  const isKey = key.length <= maxKeyBytes && segments.every((segment) => checkDnsSubdomain(segment).length === 0);
  return isKey ? { group, plural } : undefined;
}

/** The namespace in the key of an object; undefined where there is none. */
export function namespaceOfKey(key: string): string | undefined {
  const [, , , , namespace, name] = key.split('/');
  return name === undefined ? undefined : namespace;
}
