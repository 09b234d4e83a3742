import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { MemoryVault } from '../vault/memory-vault.fixture.ts';
import { BegunLogins, maxLoginMs } from './begun-logins.ts';

const login = {
  provider: 'example',
  redirectUri: 'https://homeostat.example.com/login/oidc/example/callback',
  next: '/docs',
  secrets: { state: 's', nonce: 'n', verifier: 'v' },
};
const monthMs = 30 * 24 * 3_600_000;

describe('logins that have begun at an issuer', () => {
  let clock: FakeClock;
  let vault: MemoryVault;
  let logins: BegunLogins;

  beforeEach(() => {
    clock = new FakeClock(10 * monthMs - maxLoginMs / 2);
    vault = new MemoryVault();
    logins = new BegunLogins(vault, clock);
  });

  it('can be decrypted by every replica with the same vault', async () => {
    const sealed = await logins.seal(login);
    expect(await new BegunLogins(vault, clock).open(sealed)).to.deep.equal(login);
  });

  it('can be decrypted by a replica that does not have the new key yet and reads the key from the database once', async () => {
    const sealed = await logins.seal(login);
    let reached = 0;
    class LateVault extends MemoryVault {
      override async reach(): Promise<void> {
        reached += 1;
        for (const [name, value] of vault.entries('login/key')) await this.put(name, value);
      }
    }
    const late = new BegunLogins(new LateVault(), clock);
    expect(await late.open(sealed)).to.deep.equal(login);
    expect(await late.open(sealed)).to.deep.equal(login);
    expect(reached).to.equal(1);
    await clock.advance(maxLoginMs);
    expect(await new BegunLogins(new LateVault(), clock).open(sealed), 'a key of another time').to.equal(undefined);
    expect(reached).to.equal(1);
  });

  it('can be decrypted after the key has changed, until they are too old', async () => {
    const before = await logins.seal(login);
    await clock.advance(maxLoginMs / 2);
    const after = await logins.seal(login);
    await logins.sweep();
    expect([...vault.entries('login/key').keys()]).to.deep.equal(['login/key/9', 'login/key/10']);
    expect(await logins.open(before)).to.deep.equal(login);
    expect(await logins.open(after)).to.deep.equal(login);
    await clock.advance(maxLoginMs / 2 + 1);
    expect(await logins.open(before), 'too old').to.equal(undefined);
  });

  it('use a key that is deleted from the vault once all its logins are too old', async () => {
    await logins.seal(login);
    await clock.advance(3 * maxLoginMs);
    await logins.sweep();
    expect(vault.entries('login/key').size).to.equal(0);
  });

  it('cannot be decrypted if the JWE is malformed, or its header names a key that does not exist or is not a key for logins', async () => {
    const [, ...rest] = (await logins.seal(login)).split('.');
    for (const kid of ['login/key/8', 'session/1', '']) {
      const header = Buffer.from(JSON.stringify({ alg: 'dir', enc: 'A256GCM', kid })).toString('base64url');
      expect(await logins.open([header, ...rest].join('.')), kid).to.equal(undefined);
    }
    for (const broken of ['', 'x', 'a.b.c.d.e']) expect(await logins.open(broken), broken).to.equal(undefined);
  });
});
