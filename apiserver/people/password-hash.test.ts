import { expect } from 'chai';
import { dummyHash, hashPassword, verifyPassword } from './password-hash.ts';
import type { PasswordHash } from './password-hash.ts';

/** A test vector of RFC 7914, section 12. Its key is cut to the length of our keys. */
const published: PasswordHash = {
  algorithm: 'scrypt',
  cost: 2 ** 14,
  blockSize: 8,
  parallelization: 1,
  salt: Buffer.from('SodiumChloride').toString('base64'),
  key: Buffer.from('7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2', 'hex').toString('base64'),
};

describe('the hash of a password', () => {
  it('is checked by scrypt, with the parameters in the hash', async () => {
    expect(await verifyPassword('pleaseletmein', published)).to.equal(true);
    expect(await verifyPassword('pleaseletmeout', published)).to.equal(false);
    expect(await verifyPassword('pleaseletmein', { ...published, cost: 2 ** 13 })).to.equal(false);
  });

  it('takes 32 MiB and three passes, also for the check of an unknown user', async () => {
    const parameters = { algorithm: 'scrypt', cost: 2 ** 15, blockSize: 8, parallelization: 3 };
    expect(await hashPassword('a long enough secret')).to.include(parameters);
    expect(dummyHash).to.include(parameters);
  });

  it('has its own salt, and matches only its password', async () => {
    const [one, other] = [await hashPassword('a long enough secret'), await hashPassword('a long enough secret')];
    expect(one.salt).to.not.equal(other.salt);
    expect(one.key).to.not.equal(other.key);
    expect(await verifyPassword('a long enough secret', one)).to.equal(true);
    expect(await verifyPassword('a long enough secreT', one)).to.equal(false);
    expect(await verifyPassword('a long enough secret', dummyHash)).to.equal(false);
  });
});
