import { createHash } from 'node:crypto';

/**
 * The maximum number of characters of a value that is stored as it is. For a longer value, its hash is stored, so that
 * index entries stay small.
 */
const maxPlainValueLength = 200;

/**
 * Returns the text that is stored for a claimed value: in `uniq.value` in SQL databases, and in keys in etcd. The text
 * is a hash for three sorts of values: long ones; those with a NUL, which a database may cut or refuse; and those
 * with lone surrogates, which would all become equal in UTF-8. The first character distinguishes plain values from
 * hashes.
 */
export function storedClaimValue(value: string): string {
  if (value.length <= maxPlainValueLength && !/[\0\p{Surrogate}]/u.test(value)) return `=${value}`;
  return `#${createHash('sha256').update(Buffer.from(value, 'utf16le')).digest('base64')}`;
}
