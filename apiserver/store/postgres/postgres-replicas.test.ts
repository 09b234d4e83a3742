import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { PostgresTestServer, withCounterLocked } from './postgres-database.test-support.ts';
import { committed, create, key, kind, revisionOf, scanned, written } from '../store-operations.fixture.ts';
import type { Store } from '../store.ts';

async function closeAll(stores: readonly Store[]): Promise<void> {
  await Promise.all(stores.map((store) => store.close()));
}

describe('several PostgresStores on one database', () => {
  const server = PostgresTestServer.use();

  async function openTwo(): Promise<{ one: Store; other: Store; url: string }> {
    const { stores, url } = await server.openSeveral(2);
    const [one, other] = stores;
    if (!one || !other) throw new Error('two were opened');
    return { one, other, url };
  }

  it('write one history, and each receives the revision before its own batch', async () => {
    const { one, other } = await openTwo();
    const batches = [
      await one.commit([create('a', '1'), create('b', '2')]),
      await other.commit([create('a', 'again'), create('c', '3')]),
      await one.commit([{ op: 'delete', key: key('c'), kind, expect: 3 }]),
      await other.commit([create('b', 'again')]),
    ];
    expect(batches).to.deep.equal([
      { before: 0, outcomes: [{ revision: 1 }, { revision: 2 }] },
      { before: 2, outcomes: [{ conflict: 'exists' }, { revision: 3 }] },
      { before: 3, outcomes: [{ revision: 4 }] },
      { before: 4, outcomes: [{ conflict: 'exists' }] },
    ]);
    const histories = await Promise.all([one, other].map((store) => store.changes(0, 10)));
    expect(histories[0]).to.deep.equal(histories[1]);
    expect(histories[0]?.map((change) => [change.key, change.op])).to.deep.equal([
      [key('a'), 'create'],
      [key('b'), 'create'],
      [key('c'), 'create'],
      [key('c'), 'delete'],
    ]);
    expect(await one.commit([])).to.deep.equal({ before: 4, outcomes: [] });
    await closeAll([one, other]);
  });

  it('give a unique value to one of all that claim it at once', async () => {
    const { stores } = await server.openSeveral(4);
    for (let round = 0; round < 10; round += 1) {
      const outcomes = await Promise.all(
        stores.map((store, at) => committed(store, [create(`n${round}-${at}`, '', [[1, `v${round}`]])])),
      );
      const winner = outcomes.findIndex(([outcome]) => outcome && 'revision' in outcome);
      const losers = outcomes.filter((_, at) => at !== winner).flat();
      expect(losers).to.deep.equal(
        losers.map(() => ({ conflict: 'unique', holder: key(`n${round}-${winner}`), claim: [1, `v${round}`] })),
      );
    }
    expect(await Promise.all(stores.map((store) => scanned(store)))).to.have.nested.property('[3].length', 10);
    await closeAll(stores);
  });

  it('number names once', async () => {
    const { stores } = await server.openSeveral(4);
    const numbers = await Promise.all(stores.map((store) => Promise.all([store.numberOf('x'), store.numberOf('y')])));
    expect(new Set(numbers.map(String)).size).to.equal(1);
    expect(numbers[0]?.toSorted()).to.deep.equal([1, 2]);
    await closeAll(stores);
  });

  it('write nothing with the previous unique indexes once another store has set others', async () => {
    const { one, other } = await openTwo();
    const old = await one.setClaims(kind, { indexes: [], claims: [], revision: 0 });
    const next = await other.setClaims(kind, { indexes: [1], claims: [], revision: 0 });
    expect(await committed(one, [{ ...create('a', '1'), ...old }])).to.deep.equal([{ conflict: 'generation' }]);
    expect(await written(one, { ...create('a', '1'), ...next })).to.deep.equal([1]);
    await closeAll([one, other]);
  });

  it('decide on generations and claims by the state at their turn, not at their request', async () => {
    const { one, other, url } = await openTwo();
    const old = await one.setClaims(kind, { indexes: [1], claims: [], revision: 0 });
    const wanted = { indexes: [1, 2], claims: [], revision: 0 };
    const inTurn = async (first: () => Promise<unknown>, second: () => Promise<unknown>): Promise<unknown[]> => {
      const both = await withCounterLocked(url, async () => {
        const asked = [first()];
        await eventually(async () => (await server.waitingSessions(url)) === 1);
        asked.push(second());
        await eventually(async () => (await server.waitingSessions(url)) === 2);
        return { asked };
      });
      return Promise.all(both.asked);
    };
    const write = (name: string) => async (): Promise<unknown> => {
      const { outcomes } = await other.commit([{ ...create(name, '', [[1, 'v']]), ...old }]);
      return outcomes[0];
    };
    const next = await inTurn(() => one.setClaims(kind, wanted), write('a'));
    expect(next).to.deep.equal([{ generation: 2 }, { conflict: 'generation' }]);
    const again = await inTurn(write('b'), () => one.setClaims(kind, { ...wanted, indexes: [1] }));
    expect(again).to.deep.equal([{ conflict: 'generation' }, { generation: 3 }]);
    const create3 = { ...create('c', '', [[1, 'v']]), generation: 3 } as const;
    const behind = await inTurn(
      () => other.commit([create3]),
      () => one.setClaims(kind, wanted),
    );
    expect(behind).to.deep.equal([{ before: 0, outcomes: [{ revision: 1 }] }, { refused: 'behind' }]);
    await closeAll([one, other]);
  });

  it('are woken by each other’s commits at once', async () => {
    const url = await server.createSchema();
    // Stands still, so that apart from the queries at the start, stores learn only of announced commits.
    const store = server.store(url, { clock: new FakeClock() });
    await store.open();
    const { stores } = await server.openSeveral(1, url);
    const woken: number[] = [];
    const stop = store.subscribe((revision) => woken.push(revision));
    for (const other of stores) {
      for (let at = 0; at < 10; at += 1) {
        const [revision = 0] = await written(other, create(`n${at}`, ''));
        await eventually(() => woken.includes(revision));
      }
    }
    const [own] = await committed(store, [create('own', '')]);
    expect(woken.at(-1)).to.equal(revisionOf(own));
    stop();
    await closeAll([store, ...stores]);
  });
});
