import { createHash } from 'node:crypto';

/** Longer values are kept as their hash: an index entry stays small whatever is claimed. Characters. */
const maxPlainValueLength = 200;

/**
 * What `uniq` holds for a claimed value, in every SQL dialect. Hashed, beside long ones: values with a NUL, which a
 * database may cut there or refuse, and with lone surrogates, which UTF-8 would make all alike. The first character keeps
 * a plain value from posing as a hash.
 */
export function storedClaimValue(value: string): string {
  if (value.length <= maxPlainValueLength && !/[\0\p{Surrogate}]/u.test(value)) return `=${value}`;
  return `#${createHash('sha256').update(Buffer.from(value, 'utf16le')).digest('base64')}`;
}
