import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { MemoryVault } from '../vault/memory-vault.fixture.ts';
import { Sessions } from './sessions.ts';
import type { Home } from './sessions.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {} };

describe('the sessions of people', () => {
  it('report the address from which a user has logged in with a password, to every replica with the same vault', async () => {
    const parts = { vault: new MemoryVault(), clock: new FakeClock(), logger };
    const homes: Home[] = [];
    const end = new Sessions(parts).onHome((home) => homes.push(home));
    const sessions = new Sessions(parts);
    const secret = await sessions.begin({ user: 'ada', uid: 'u', password: 'p', address: '192.0.2.1' });
    await sessions.begin({ user: 'ada', sealedToken: 't' });
    await sessions.end(secret);
    expect(homes).to.deep.equal([{ user: 'ada', address: '192.0.2.1' }]);
    end();
    await sessions.begin({ user: 'ada', uid: 'u', password: 'p', address: '192.0.2.2' });
    expect(homes).to.have.length(1);
  });
});
