import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { PostgresTestServer, withCounterLocked } from './postgres-database.test-support.ts';
import { committed, create, kind, revisionOf, written } from '../store-operations.fixture.ts';
import { describeReplicas } from '../store-replicas.contract.ts';
import type { Store } from '../store.ts';

async function closeAll(stores: readonly Store[]): Promise<void> {
  await Promise.all(stores.map((store) => store.close()));
}

describe('several PostgresStores on one database', () => {
  const server = PostgresTestServer.use();

  describeReplicas('PostgreSQL', async () => (await server.openSeveral(4)).stores);

  async function openTwo(): Promise<{ one: Store; other: Store; url: string }> {
    const { stores, url } = await server.openSeveral(2);
    const [one, other] = stores;
    if (!one || !other) throw new Error('two were opened');
    return { one, other, url };
  }

  it('check claims and the generation of unique indexes against the state at the commit, not at the time of the request', async () => {
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

  it('receive notifications of each other’s commits', async () => {
    const url = await server.createSchema();
    // The clock of this store stands still, so the store does not poll: except for the read at the start, it learns of
    // commits only from notifications.
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
