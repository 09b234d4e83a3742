import { expect } from 'chai';

import { type HashSecret, keyHash } from './key-hash.ts';

const secret: HashSecret = [0x12_34_56_78, 0x9a_bc_de_f0];
const keys = Array.from({ length: 20_000 }, (_, at) => `/registry/example.com/persons/default/p-${at}`);

describe('keyHash', () => {
  it('sets each bit for about half of the keys, even if the keys differ in only a few characters', () => {
    const hashes = keys.map((key) => keyHash(key, secret));
    // A random function would pass: among 20,000 random numbers of 32 bits, there are on average only 0.05 equal pairs.
    expect(new Set(hashes).size).to.be.above(keys.length - 4);
    for (let bit = 0; bit < 32; bit += 1) {
      const ones = hashes.filter((hash) => (hash >>> bit) & 1).length;
      // The limit is six standard deviations from half of the keys.
      expect(Math.abs(ones - keys.length / 2)).to.be.below(3 * Math.sqrt(keys.length));
    }
  });

  it('returns the same hashes in all versions of the package, because SQLite files contain them', () => {
    const hashes = ['', 'a', 'ab', 'abc', '/registry/a/b/p-7', '\u{1f600}x'].map((key) => keyHash(key, secret));
    expect(hashes).to.deep.equal([1_073_805_102, 4_005_019_202, 445_055_048, 438_693_729, 614_481_715, 2_586_257_962]);
  });

  it('distinguishes strings by length and by the high bytes of their characters', () => {
    const strings = ['', '\0', '\0\0', 'a', 'a\0', 'aa', 'aaa', '\u0161', '\u0261a', '\ud800', '\udc00'];
    expect(new Set(strings.map((each) => keyHash(each, secret))).size).to.equal(strings.length);
  });

  it('depends on both halves of the secret', () => {
    const hashes = (
      [
        [1, 2],
        [2, 1],
        [1, 3],
        [3, 2],
      ] as const
    ).map((each) => keyHash(keys[0] ?? '', each));
    expect(new Set(hashes).size).to.equal(4);
  });
});
