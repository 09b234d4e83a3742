/** The secret of a hash: two random integers of 32 bits. */
export type HashSecret = readonly [number, number];

/**
 * Returns the HalfSipHash-1-3 of a string's code units, as an unsigned integer of 32 bits. Clients choose the keys, but
 * without the secret they cannot find many keys with equal hashes. SQLite files contain hashes, so the function must
 * not change.
 */
export function keyHash(key: string, [low, high]: HashSecret): number {
  const { length } = key;
  const words = (length + 1) >> 1;
  let v0 = low | 0;
  let v1 = high | 0;
  let v2 = low ^ 0x6c796765;
  let v3 = high ^ 0x74656462;
  // There is one round for each word, one for the length, and three to finish.
  for (let at = 0; at < words + 4; at += 1) {
    const unit = at * 2;
    let word = 0;
    if (unit + 1 < length) word = key.charCodeAt(unit) | (key.charCodeAt(unit + 1) << 16);
    else if (unit < length) word = key.charCodeAt(unit);
    else if (at === words) word = length;
    if (at === words + 1) v2 ^= 0xff;
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
  }
  return (v1 ^ v3) >>> 0;
}
