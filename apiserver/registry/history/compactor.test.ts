import { FakeClock } from '@homeostat/controller-runtime/testing';
import { silentLogger } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import type { Store } from '../../store/store.ts';
import { Compactor } from './compactor.ts';
import type { Retention } from './compactor.ts';

interface Setup {
  readonly clock: FakeClock;
  readonly compactor: Compactor;
  readonly trimmed: number[];
  readonly compacted: number[];
  readonly memory: { isShort: boolean };
}

function setup(retention: Partial<Retention>, rows = 0): Setup {
  const clock = new FakeClock();
  const trimmed: number[] = [];
  const compacted: number[] = [];
  const memory = { isShort: false };
  let left = rows;
  const store: Pick<Store, 'compact'> = {
    compact: (upTo, maxRows) => {
      compacted.push(upTo);
      const gone = Math.min(left, maxRows);
      left -= gone;
      return Promise.resolve(gone);
    },
  };
  const compactor = new Compactor({
    store: store as Store,
    clock,
    logger: silentLogger,
    retention: { minAgeMs: 1000, minChanges: 0, maxBytes: 1_000_000, ...retention },
    trim: async (revision) => void trimmed.push(revision),
    isMemoryShort: () => memory.isShort,
    floor: 0,
  });
  return { clock, compactor, trimmed, compacted, memory };
}

describe('Compactor', () => {
  it('keeps changes until they have the minimum age', async () => {
    const { clock, compactor, trimmed } = setup({});
    compactor.record(1, 10);
    await clock.advance(999);
    await compactor.compact();
    expect(trimmed).to.deep.equal([]);
    await clock.advance(1);
    await compactor.compact();
    expect(trimmed).to.deep.equal([1]);
  });

  it('keeps the minimum number of changes, however old they are', async () => {
    const { clock, compactor, trimmed } = setup({ minChanges: 300 });
    for (let revision = 1; revision <= 512; revision += 1) compactor.record(revision, 1);
    await clock.advance(10_000);
    await compactor.compact();
    expect(trimmed, 'a group of 256 would leave fewer than 300').to.deep.equal([]);
    for (let revision = 513; revision <= 600; revision += 1) compactor.record(revision, 1);
    await compactor.compact();
    expect(trimmed).to.deep.equal([256]);
  });

  it('keeps only the latest changes while memory is short', async () => {
    const { compactor, trimmed, memory } = setup({ minAgeMs: 60_000, minChanges: 10_000 });
    for (let revision = 1; revision <= 2048; revision += 1) compactor.record(revision, 1);
    await compactor.compact();
    expect(trimmed).to.deep.equal([]);
    memory.isShort = true;
    await compactor.compact();
    expect(trimmed, 'a further group of 256 would leave fewer than 1,000').to.deep.equal([1024]);
  });

  it('applies the limit of bytes immediately, even if the minimum age and number of changes are not reached', async () => {
    const { compactor, trimmed } = setup({ minChanges: 1000, maxBytes: 1000 });
    for (let revision = 1; revision <= 300; revision += 1) compactor.record(revision, 5);
    // The first compaction started when the limit was exceeded; the second one handles the changes that came meanwhile.
    await compactor.compact();
    await compactor.compact();
    // The limit of 1,000 bytes permits 200 changes of 5 bytes, so about the first 100 of the 300 changes are removed.
    expect(trimmed.at(-1)).to.be.within(100, 110);
  });

  it('keeps the newest change, however large it is: even fast watchers have not read it yet', async () => {
    const { compactor, trimmed } = setup({ minChanges: 1000, maxBytes: 1000 });
    for (let revision = 1; revision <= 20; revision += 1) {
      compactor.record(revision, 700);
      expect(trimmed.at(-1) ?? 0).to.be.lessThan(revision);
      await compactor.compact();
    }
    expect(trimmed.at(-1)).to.equal(19);
  });

  it('continues in small steps until the store has nothing left to drop', async () => {
    const { clock, compactor, compacted } = setup({}, 2500);
    compactor.record(9, 1);
    await clock.advance(1000);
    await compactor.compact();
    expect(compacted).to.deep.equal([9, 9, 9]);
  });

  it('runs periodically until it is stopped', async () => {
    const { clock, compactor, trimmed } = setup({});
    compactor.start();
    compactor.record(1, 1);
    await clock.advance(30_000);
    await compactor.stop();
    expect(trimmed).to.deep.equal([1]);
    compactor.record(2, 1);
    await clock.advance(60_000);
    expect(trimmed).to.deep.equal([1]);
  });
});
