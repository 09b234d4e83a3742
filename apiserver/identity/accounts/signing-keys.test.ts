import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { MemoryVault } from '../../vault/memory-vault.fixture.ts';
import { rotationMs, SigningKeys } from './signing-keys.ts';
import { maxBoundSeconds } from './token-lifetime.ts';

describe('the signing keys of service accounts', () => {
  const setUp = (): { clock: FakeClock; vault: MemoryVault; keys: SigningKeys } => {
    const clock = new FakeClock();
    const vault = new MemoryVault();
    return { clock, vault, keys: new SigningKeys({ vault, clock }) };
  };

  it('are created once, and are the same on all replicas', async () => {
    const { clock, vault, keys } = setUp();
    const other = new SigningKeys({ vault, clock });
    const made = await Promise.all([keys.current(), keys.current(), other.current(), other.current()]);
    expect(new Set(made.map(({ kid }) => kid)).size).to.equal(1);
    expect(vault.entries('service-account-keys/').size).to.equal(1);
    await clock.advance(rotationMs);
    const next = await other.current();
    expect(next.kid).not.to.equal(made[0]?.kid);
    expect(keys.has(next.kid)).to.equal(true);
    expect((await keys.find(next.kid))?.kid).to.equal(next.kid);
  });

  it('are replaced after 30 days; each replacement deletes the earlier keys whose last token has expired', async () => {
    const { clock, keys } = setUp();
    const first = await keys.current();
    await clock.advance(rotationMs - 1);
    expect((await keys.current()).kid).to.equal(first.kid);
    await clock.advance(1);
    const second = await keys.current();
    expect(second.kid).not.to.equal(first.kid);
    expect(keys.all().map(({ kid }) => kid)).to.deep.equal([first.kid, second.kid]);
    for (let passed = rotationMs; passed < maxBoundSeconds * 1000; passed += rotationMs) {
      await clock.advance(rotationMs);
      expect(keys.has(first.kid), `${passed}`).to.equal(true);
      await keys.current();
    }
    await clock.advance(rotationMs);
    await keys.current();
    expect(keys.has(first.kid)).to.equal(false);
    expect(await keys.find(first.kid)).to.equal(undefined);
    expect(keys.has(second.kid)).to.equal(true);
  });

  it('are read from the database at most once a second, even for tokens with unknown key ids', async () => {
    const { clock, vault, keys } = setUp();
    let asked = 0;
    vault.reach = async () => void (asked += 1);
    const findMany = async (): Promise<unknown> => Promise.all(['a', 'b', 'c'].map(async (kid) => keys.find(kid)));
    expect(await findMany()).to.deep.equal([undefined, undefined, undefined]);
    expect(await findMany()).to.deep.equal([undefined, undefined, undefined]);
    expect(asked).to.equal(1);
    await clock.advance(1000);
    await findMany();
    expect(asked).to.equal(2);
  });

  it('are replaced by a new key once they are deleted from the vault', async () => {
    const { vault, keys } = setUp();
    const { kid } = await keys.current();
    for (const name of vault.entries('').keys()) await vault.delete(name);
    expect(keys.has(kid)).to.equal(false);
    expect((await keys.current()).kid).not.to.equal(kid);
  });
});
