import { randomBytes } from 'node:crypto';

// Names come from clients, so the hash has a secret key: no client can choose names that all have the same one.
const secret = randomBytes(8);
const k0 = secret.readInt32LE(0);
const k1 = secret.readInt32LE(4);

/** A hash of 32 bits, by HalfSipHash-1-3 over pairs of UTF-16 code units. */
export function hashOf(key: string): number {
  let v0 = k0;
  let v1 = k1;
  let v2 = k0 ^ 0x6c796765;
  let v3 = k1 ^ 0x74656462;
  const rounds = (key.length >>> 1) + 4;
  for (let round = 0; round < rounds; round += 1) {
    const at = round * 2;
    const isInput = round < rounds - 3;
    let word = 0;
    if (isInput) {
      word = at + 1 < key.length ? key.charCodeAt(at) | (key.charCodeAt(at + 1) << 16) : lastWord(key, at);
      v3 ^= word;
    } else if (round === rounds - 3) v2 ^= 0xff;
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
  return v1 ^ v3;
}

/** The length, and the last code unit of a text with an odd number of them. */
function lastWord(key: string, at: number): number {
  return (at < key.length ? key.charCodeAt(at) : 0) | (key.length << 16);
}
