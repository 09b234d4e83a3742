import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { bytes, committed, create, key, kind, readable, scanned, written } from './store-operations.fixture.ts';
import type { Operation, Store } from './store.ts';

/** Adds the tests of four stores that share a database. `open` opens them on an empty database. */
export function describeReplicas(engine: string, open: () => Promise<readonly Store[]>): void {
  describe(`several stores of ${engine} on one database`, () => {
    let stores: readonly Store[] = [];

    beforeEach(async () => {
      stores = await open();
    });

    afterEach(async () => {
      await Promise.all(stores.map((store) => store.close()));
    });

    const pair = (): [Store, Store] => stores.slice(0, 2) as [Store, Store];

    it('write one history, and return to each writer the revision before its own batch', async () => {
      const [a, b] = pair();
      expect(await a.commit([create('1', ''), create('2', '')])).to.include({ before: 0 });
      expect(await b.commit([create('3', '')])).to.deep.equal({ before: 2, outcomes: [{ revision: 3 }] });
      const update: Operation = { op: 'update', key: key('3'), kind, expect: 3, data: bytes('new') };
      expect(await a.commit([create('1', ''), update])).to.deep.equal({
        before: 3,
        outcomes: [{ conflict: 'exists' }, { revision: 4 }],
      });
      expect(await b.commit([update])).to.deep.equal({ before: 4, outcomes: [{ conflict: 'revision' }] });
      expect(await a.commit([])).to.deep.equal({ before: 4, outcomes: [] });
      expect(await Promise.all(stores.map((store) => store.currentRevision()))).to.deep.equal([4, 4, 4, 4]);
      const histories = await Promise.all(stores.map((store) => store.changes(0, 10)));
      for (const history of histories) expect(history.map(readable)).to.deep.equal(histories[0]?.map(readable));
      expect(await scanned(b)).to.deep.equal(await scanned(a));
    });

    it('let only one object claim a unique value, although all stores try concurrently, until this object releases it', async () => {
      const [a, b] = pair();
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
      const rows = await scanned(a);
      expect(rows).to.have.lengthOf(10);
      const holder = rows.find((row) => row.key.includes('n0-'));
      const release = { op: 'delete', key: holder?.key ?? '', kind, expect: holder?.revision ?? 0 } as const;
      await written(a, { ...release, unique: { add: [], remove: [[1, 'v0']] } });
      await written(b, create('late', '', [[1, 'v0']]));
    });

    it('refuse writes with the former generation of unique indexes once another store has set new unique indexes', async () => {
      const [a, b] = pair();
      const old = await a.setClaims(kind, { indexes: [1], claims: [], revision: 0 });
      const [revision = 0] = await written(a, { ...create('a', '', [[1, 'v']]), ...old });
      const wanted = { indexes: [1, 2], claims: [{ claim: [2, 'w'], key: key('a') }], revision } as const;
      const next = await b.setClaims(kind, wanted);
      expect(await a.claims(kind)).to.deep.include({ ...next, indexes: [1, 2], revision });
      expect(await committed(a, [{ ...create('b', '', [[1, 'x']]), ...old }])).to.deep.equal([
        { conflict: 'generation' },
      ]);
      expect(await committed(a, [{ ...create('b', '', [[2, 'w']]), ...next }])).to.deep.equal([
        { conflict: 'unique', holder: key('a'), claim: [2, 'w'] },
      ]);
    });

    it('return the same generation when all of them set the same claims of a kind concurrently', async () => {
      const set = await Promise.all(
        stores.map((store) => store.setClaims(kind, { indexes: [7], claims: [], revision: 0 })),
      );
      expect(set).to.deep.equal([{ generation: 1 }, { generation: 1 }, { generation: 1 }, { generation: 1 }]);
    });

    it('assign the same number to a name when all of them ask for it concurrently', async () => {
      const numbers = await Promise.all(stores.map((store) => Promise.all([store.numberOf('x'), store.numberOf('y')])));
      expect(new Set(numbers.map(String)).size).to.equal(1);
      expect(numbers[0]?.toSorted()).to.deep.equal([1, 2]);
    });

    it('call listeners for the writes of other stores', async () => {
      const [a, b] = pair();
      const woken: number[] = [];
      const stop = a.subscribe((revision) => woken.push(revision));
      for (const name of ['1', '2']) {
        const [revision = 0] = await written(b, create(name, ''));
        await eventually(() => woken.includes(revision));
      }
      stop();
    });
  });
}
