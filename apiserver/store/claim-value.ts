import { createHash } from 'node:crypto';

/** The length in characters of a value above which its hash is stored instead, so that index entries stay small. */
const maxPlainValueLength = 200;

/**
 * The content of `uniq` for a claimed value, in every SQL dialect. Besides long values, these are hashed: values with a
 * NUL, which a database may cut or refuse, and values with lone surrogates, which UTF-8 would make equal. The first
 * character keeps a plain value from being mistaken for a hash.
 */
export function storedClaimValue(value: string): string {
  if (value.length <= maxPlainValueLength && !/[\0\p{Surrogate}]/u.test(value)) return `=${value}`;
  return `#${createHash('sha256').update(Buffer.from(value, 'utf16le')).digest('base64')}`;
}
