import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { MemoryVault } from '../vault/memory-vault.fixture.ts';
import { SharedFailures } from './shared-failures.ts';

const forgetMs = 15 * 60_000;
const logger = { debug() {}, info() {}, warn() {}, error() {} };

/** A vault that counts its writes. */
class CountingVault extends MemoryVault {
  writes = 0;

  override put(...args: Parameters<MemoryVault['put']>): Promise<boolean> {
    this.writes += 1;
    return super.put(...args);
  }
}

describe('the failed logins that replicas share', () => {
  let clock: FakeClock;
  let vault: CountingVault;

  beforeEach(() => {
    clock = new FakeClock();
    vault = new CountingVault();
  });

  const replica = (): SharedFailures => new SharedFailures({ vault, clock, logger, forgetMs });

  function fail(failures: SharedFailures, key: string, times: number): void {
    for (let time = 0; time < times; time += 1) failures.add(key);
  }

  it('are added to the failures that another replica has counted, a second later', async () => {
    const [one, other] = [replica(), replica()];
    fail(one, 'account ada', 3);
    expect(other.of('account ada')).to.equal(undefined);
    await clock.advance(1000);
    expect(other.of('account ada')?.count).to.equal(3);
    fail(other, 'account ada', 2);
    expect(other.of('account ada')?.count).to.equal(5);
    await clock.advance(1000);
    expect(one.of('account ada')?.count).to.equal(5);
    expect(replica().of('account ada')?.count, 'after a restart').to.equal(5);
  });

  it('are deleted by a successful login, on all replicas', async () => {
    const [one, other] = [replica(), replica()];
    fail(one, 'account ada', 5);
    await clock.advance(1000);
    other.add('account ada');
    other.forget('account ada');
    expect(other.of('account ada')).to.equal(undefined);
    other.add('account ada');
    await clock.advance(1000);
    expect(one.of('account ada')?.count).to.equal(1);
    expect(other.of('account ada')?.count).to.equal(1);
  });

  it('no longer count after the time `forgetMs`', async () => {
    const one = replica();
    fail(one, 'account ada', 5);
    await clock.advance(1000);
    await clock.advance(forgetMs);
    expect(one.of('account ada')).to.equal(undefined);
  });

  it('are not written to the vault when the user logs in successfully within a second after them', async () => {
    const one = replica();
    one.add('account ada');
    one.add('address 192.0.2.1');
    one.forget('account ada');
    one.takeBack('address 192.0.2.1');
    await clock.advance(5000);
    expect(vault.writes).to.equal(0);
  });

  for (const [action, undo] of [
    ['forget', (failures: SharedFailures, key: string) => failures.forget(key)],
    ['takeBack', (failures: SharedFailures, key: string) => failures.takeBack(key)],
  ] as const)
    it(`are deleted by ${action}() while they are being written to the vault`, async () => {
      const held: (() => void)[] = [];
      vault.put = async (...args) => {
        await new Promise<void>((resolve) => held.push(resolve));
        return CountingVault.prototype.put.apply(vault, args);
      };
      const one = replica();
      one.add('account ada');
      await clock.advance(1000);
      undo(one, 'account ada');
      expect(one.of('account ada')).to.equal(undefined);
      held.pop()?.();
      await clock.advance(0);
      expect(one.of('account ada')).to.equal(undefined);
      await clock.advance(1000);
      held.pop()?.();
      await clock.advance(0);
      expect(replica().of('account ada')).to.equal(undefined);
    });

  it('cause at most eight writes a second, and use limited memory that keeps the names with the most failures [slow]', async () => {
    const one = replica();
    fail(one, 'account ada', 7);
    for (let name = 0; name < 12_000; name += 1) {
      one.add(`account ${name.toString()}`);
      if (name % 3_000 === 0) await clock.advance(1000);
    }
    expect(vault.writes).to.be.at.most(4 * 8);
    for (let second = 0; second < 256 / 8; second += 1) await clock.advance(1000);
    expect(vault.writes).to.be.at.most((4 + 256 / 8) * 8);
    const values = [...vault.entries('login-failures/').values()];
    expect(values).to.have.length(256);
    for (const value of values) expect(Object.keys(value as object)).to.have.length.at.most(40);
    expect(JSON.stringify(values[0]).length).to.be.below(8_000);
    expect(replica().of('account ada')?.count).to.equal(7);
  });

  it('are counted while they cannot be stored, and are stored later', async () => {
    const one = replica();
    const put = vault.put.bind(vault);
    vault.put = () => Promise.reject(new Error('no database'));
    fail(one, 'account ada', 3);
    await clock.advance(1000);
    expect(one.of('account ada')?.count).to.equal(3);
    vault.put = put;
    await clock.advance(1000);
    expect(replica().of('account ada')?.count).to.equal(3);
  });
});
