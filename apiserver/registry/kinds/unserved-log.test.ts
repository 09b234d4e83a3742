import { expect } from 'chai';
import { createSqliteStore } from '../../store/sqlite/sqlite-store.ts';
import { create } from '../../store/store-operations.fixture.ts';
import type { Change } from '../../store/store.ts';
import { UnservedLog } from './unserved-log.ts';

describe('UnservedLog', () => {
  it('reads the log in pages that grow while changes are small, and shrink while they are large', async () => {
    const store = createSqliteStore({ memory: true });
    await store.open();
    const small = Array.from({ length: 100 }, (_, at) => create(`small-${at}`, ''));
    const large = Array.from({ length: 60 }, (_, at) => ({ ...create(`large-${at}`, ''), data: new Uint8Array(5e5) }));
    await store.commit([...small, ...large]);
    const changes = store.changes.bind(store);
    const pages: number[][] = [];
    store.changes = async (after, limit) => {
      const page = await changes(after, limit);
      pages.push([limit, page.length]);
      return page;
    };
    const read: Change[] = [];
    const log = new UnservedLog(0);
    await log.read(store, (change) => read.push(change));
    await store.close();
    expect(pages).to.deep.equal([
      [16, 16],
      [32, 32],
      [64, 64],
      [32, 32],
      [16, 16],
      [8, 0],
    ]);
    expect(read.map(({ revision }) => revision)).to.deep.equal(read.map((_, at) => at + 1));
    expect([read.length, log.revision]).to.deep.equal([160, 160]);
  });
});
