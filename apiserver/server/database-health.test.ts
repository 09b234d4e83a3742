import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { StoreError } from '../store/store-error.ts';
import { DatabaseHealth } from './database-health.ts';

describe('the health of the database', () => {
  let clock: FakeClock;
  let health: DatabaseHealth;

  beforeEach(() => {
    clock = new FakeClock();
    health = new DatabaseHealth(clock);
  });

  it('reports a failed write for 10 s, or until a write succeeds; a successful read changes nothing', async () => {
    health.report('write', new StoreError('io', 'the connection was lost'));
    health.report('read', undefined);
    expect(health.check()).to.equal('cannot write: the connection was lost');
    health.report('write', undefined);
    expect(health.check()).to.equal(undefined);
    health.report('write', new StoreError('io', 'the connection was lost'));
    await clock.advance(10_000);
    expect(health.check()).to.equal(undefined);
  });

  for (const code of ['corrupt', 'diverged', 'newer', 'crashed'] as const) {
    it(`stays bad after a failure with the code ${code}, whatever comes later`, async () => {
      health.report('read', new StoreError(code, 'a page is damaged'));
      health.report('read', new StoreError('io', 'the connection was lost'));
      health.report('read', undefined);
      await clock.advance(60_000);
      for (const check of [health, health.lasting]) expect(check.check()).to.equal('cannot read: a page is damaged');
    });
  }

  it('reports that a newer program has upgraded the database, even after it has reported a damaged page', async () => {
    health.report('write', new StoreError('corrupt', 'a page is damaged'));
    const newer = new StoreError('newer', 'the tables are newer');
    health.report('write', newer);
    expect(await health.outdated).to.equal(newer);
  });
});
