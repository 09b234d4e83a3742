import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { administer, describeWithMysql, dropDatabases, freshDatabase, storeOn } from './mysql.test-support.ts';
import type { MysqlDatabase } from './mysql-url.ts';
import {
  bytes,
  committed,
  create,
  key,
  kind,
  readable,
  rejectionOf,
  revisionOf,
  scanned,
  written,
} from '../store-operations.fixture.ts';
import { type Change, CompactedError, type Operation, type Store } from '../store.ts';

describeWithMysql('MySQL stores that share a database', () => {
  let database: MysqlDatabase;
  let stores: Store[];

  beforeEach(async () => {
    database = await freshDatabase();
    stores = [storeOn(database), storeOn(database), storeOn(database), storeOn(database)];
    await Promise.all(stores.map((store) => store.open()));
  });

  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await dropDatabases();
  });

  const pair = (): [Store, Store] => stores.slice(0, 2) as [Store, Store];
  const inDatabase = (...statements: string[]): Promise<unknown> =>
    administer(`USE ${database.database}`, ...statements);

  it('write to it in turn, and each reports the revision before its batch', async () => {
    const [a, b] = pair();
    expect(await a.commit([create('1', ''), create('2', '')])).to.include({ before: 0 });
    expect(await b.commit([create('3', '')])).to.deep.equal({ before: 2, outcomes: [{ revision: 3 }] });
    const update: Operation = { op: 'update', key: key('3'), kind, expect: 3, data: bytes('new') };
    expect(await a.commit([create('1', ''), update])).to.deep.equal({
      before: 3,
      outcomes: [{ conflict: 'exists' }, { revision: 4 }],
    });
    expect(await b.commit([update])).to.deep.equal({ before: 4, outcomes: [{ conflict: 'revision' }] });
    expect(await Promise.all(stores.map((store) => store.currentRevision()))).to.deep.equal([4, 4, 4, 4]);
    const histories = await Promise.all(stores.map((store) => store.changes(0, 10)));
    for (const history of histories) expect(history.map(readable)).to.deep.equal(histories[0]?.map(readable));
    expect(await scanned(b)).to.deep.equal(await scanned(a));
  });

  it('show no change beyond the counter, and everything up to it', async () => {
    const [a, b] = pair();
    const shown = async (): Promise<number[]> => (await b.changes(0, 10)).map(({ revision }) => revision);
    await written(a, create('1', ''), create('2', ''), create('3', ''));
    await inDatabase('UPDATE counter SET revision = 2');
    expect(await shown()).to.deep.equal([1, 2]);
    await inDatabase('UPDATE counter SET revision = 3');
    expect(await shown()).to.deep.equal([1, 2, 3]);
  });

  it('give a unique value to one object, whichever store it is claimed through', async () => {
    const claims = await Promise.all(
      Array.from({ length: 40 }, (_, n) => {
        return committed(stores[n % 4] as Store, [create(`n${n}`, '', [[1, `value ${n >> 2}`]])]);
      }),
    );
    const winners = claims.flat().filter((outcome) => 'revision' in outcome);
    expect(winners).to.have.lengthOf(10);
    const [a, b] = pair();
    const [held] = await committed(b, [create('late', '', [[1, 'value 0']])]);
    expect(held).to.include({ conflict: 'unique' });
    const holder = held && 'holder' in held ? held.holder : '';
    const row = (await scanned(a)).find((each) => each.key === holder);
    const release = { op: 'delete', key: holder, kind, expect: row?.revision ?? 0 } as const;
    await written(a, { ...release, unique: { add: [], remove: [[1, 'value 0']] } });
    await written(b, create('late', '', [[1, 'value 0']]));
  });

  it('refuse writes of a store that has the previous indexes', async () => {
    const [a, b] = pair();
    const first = await a.setClaims(kind, { indexes: [1], claims: [], revision: 0 });
    const generation = 'generation' in first ? first.generation : Number.NaN;
    const [revision = 0] = await written(a, { ...create('a', '', [[1, 'v']]), generation });
    const wanted = { indexes: [1, 2], claims: [{ claim: [2, 'w'], key: key('a') }], revision } as const;
    const second = await b.setClaims(kind, wanted);
    expect(await a.claims(kind)).to.deep.include({ ...second, indexes: [1, 2], revision });
    expect(await committed(a, [{ ...create('b', '', [[1, 'x']]), generation }])).to.deep.equal([
      { conflict: 'generation' },
    ]);
    expect(await committed(a, [{ ...create('b', '', [[2, 'w']]), ...second }])).to.deep.equal([
      { conflict: 'unique', holder: key('a'), claim: [2, 'w'] },
    ]);
  });

  it('give a kind the claims of one store, when several set them at once', async () => {
    const set = await Promise.all(
      stores.map((store) => store.setClaims(kind, { indexes: [7], claims: [], revision: 0 })),
    );
    expect(set).to.deep.equal([{ generation: 1 }, { generation: 1 }, { generation: 1 }, { generation: 1 }]);
  });

  it('give a name the same number', async () => {
    const numbers = await Promise.all(stores.flatMap((store) => [store.numberOf('a'), store.numberOf('b')]));
    expect(numbers.slice(0, 2).sort()).to.deep.equal([1, 2]);
    for (let n = 2; n < numbers.length; n += 1) expect(numbers[n]).to.equal(numbers[n - 2]);
  });

  it('wake listeners for the writes of another store', async () => {
    const [a, b] = pair();
    const woken: number[] = [];
    const stop = a.subscribe((revision) => woken.push(revision));
    await written(b, create('1', ''));
    await eventually(() => woken.length === 1);
    const revisions = await written(b, create('2', ''), create('3', ''));
    await eventually(() => woken.length === 2);
    stop();
    expect(woken).to.deep.equal([1, revisions[1]]);
  });

  describe('lose a history that one of them knows:', () => {
    const expectDiverged = async (store: Store): Promise<void> => {
      const attempts = [store.commit([create('late', '')]), store.changes(0, 10)];
      for (const error of await Promise.all(attempts.map(rejectionOf))) {
        expect(error).to.include({ name: 'StoreError', code: 'diverged' });
      }
    };

    for (const [what, ...statements] of [
      ['a backup is restored, and its epoch renewed', `UPDATE meta SET value = UUID() WHERE name = 'epoch'`],
      ['the counter goes back', 'DELETE FROM log WHERE revision = 2', 'UPDATE counter SET revision = 1'],
      ['another batch has its revision', `UPDATE log SET batch = REPEAT('x', 16) WHERE revision = 2`],
      ['no row has its revision', 'DELETE FROM log WHERE revision = 2'],
    ] as const) {
      it(`${what}, and it writes and reads nothing after that`, async () => {
        const [a] = pair();
        await written(a, create('1', ''), create('2', ''));
        await inDatabase(...statements);
        await expectDiverged(a);
        const anew = storeOn(database);
        stores.push(anew);
        await anew.open();
        await written(anew, create('3', ''), create('4', ''), create('5', ''));
        await expectDiverged(a);
      });
    }

    it('one that it has only read', async () => {
      const [a, b] = pair();
      await written(b, create('1', ''), create('2', ''));
      expect(await a.changes(0, 10)).to.have.lengthOf(2);
      await inDatabase(`UPDATE log SET batch = REPEAT('x', 16) WHERE revision = 2`);
      await expectDiverged(a);
    });

    it('one that was there when it opened', async () => {
      const [a] = pair();
      await written(a, create('1', ''), create('2', ''));
      const late = storeOn(database);
      stores.push(late);
      await late.open();
      await inDatabase('DELETE FROM log WHERE revision = 2', 'UPDATE counter SET revision = 1');
      await expectDiverged(late);
    });

    it('a database whose history another store starts again', async () => {
      const [a, b] = pair();
      const begun = await a.startHistory(1_000_000);
      await expectDiverged(b);
      expect(await a.commit([create('1', '')])).to.deep.equal({
        before: 1_000_000,
        outcomes: [{ revision: 1_000_001 }],
      });
      expect(await a.changes(begun.revision, 10)).to.have.lengthOf(1);
    });

    it('not when it is compacted', async () => {
      const [a, b] = pair();
      await written(a, create('1', ''), create('2', ''));
      await b.compact(2, 10);
      expect(await a.commit([create('3', '')])).to.include({ before: 2 });
      expect(await a.changes(2, 10)).to.have.lengthOf(1);
    });
  });

  describe('under load', () => {
    interface Written {
      readonly before: number;
      readonly revisions: readonly number[];
    }

    const writers = 16;

    /** An object that is created, changed, deleted and created again, with a unique value, among others. */
    const write = async (store: Store, n: number, rounds: number): Promise<Written[]> => {
      const done: Written[] = [];
      let last: number | undefined;
      for (let round = 0; round < rounds; round += 1) {
        const unique = { add: [[1, `${n}`]], remove: [[1, `${n}`]] } as const;
        const object = { key: key(`n${n}`), kind, data: bytes(`${round}`) };
        const operation: Operation =
          last === undefined
            ? { op: 'create', ...object, unique }
            : {
                op: round % 3 === 0 ? 'delete' : 'update',
                ...object,
                expect: last,
                unique: round % 3 === 0 ? { add: [], remove: unique.remove } : unique,
              };
        const { before, outcomes } = await store.commit([operation, create(`n${n}-${round}`, '')]);
        const revisions = outcomes.map(revisionOf);
        done.push({ before, revisions });
        last = operation.op === 'delete' ? undefined : revisions[0];
      }
      return done;
    };

    const writeAll = async (rounds: number): Promise<Written[]> => {
      const all = Array.from({ length: writers }, (_, n) => write(stores[n % 4] as Store, n, rounds));
      return (await Promise.all(all)).flat();
    };

    /** Reads on from its last revision until it has all, without a pause. */
    const follow = async (store: Store, isLast: (revision: number) => boolean): Promise<number[]> => {
      const seen: number[] = [];
      while (!isLast(seen.at(-1) ?? 0)) {
        const changes = await store.changes(seen.at(-1) ?? 0, 50);
        seen.push(...changes.map(({ revision }: Change) => revision));
      }
      return seen;
    };

    const latestDeadlock = async (): Promise<string> => {
      const [rows = []] = await administer('SHOW ENGINE INNODB STATUS', 'DO 0');
      return /LATEST DETECTED DEADLOCK[^]*?\nTRANSACTIONS\n/.exec(String(rows[0]?.[2]))?.[0] ?? '';
    };

    const expectOrder = async (rounds: number): Promise<void> => {
      let last = Infinity;
      const readers = stores.slice(1).map((store) => follow(store, (revision) => revision >= last));
      const done = await writeAll(rounds);
      const acknowledged = done.flatMap(({ revisions }) => revisions).sort((x, y) => x - y);
      last = acknowledged.at(-1) ?? 0;
      expect(acknowledged).to.have.lengthOf(writers * rounds * 2);
      for (const seen of await Promise.all(readers)) expect(seen).to.deep.equal(acknowledged);
      for (const { before, revisions } of done) {
        const [first = 0] = revisions;
        expect(before).to.equal(acknowledged[acknowledged.indexOf(first) - 1] ?? 0);
      }
      expect(await latestDeadlock()).to.not.include(database.database);
    };

    it("show 3 readers each of 16 writers' changes once, in order", () => expectOrder(5));

    it("show 3 readers each of 16 writers' changes once, in order, under a long load [slow]", () => expectOrder(30));

    it('hide nothing that they compact: a reader has it, or gets an error [slow]', async () => {
      let last = Infinity;
      let isDone = false;
      let compacted = 0;
      const compactor = (async () => {
        while (!isDone)
          compacted += await (stores[0] as Store).compact((await (stores[0] as Store).currentRevision()) - 20, 10);
      })();
      const reader = async (store: Store): Promise<{ seen: number[]; gaps: (readonly [number, number])[] }> => {
        const [seen, gaps]: [number[], (readonly [number, number])[]] = [[], []];
        let after = 0;
        while (after < last) {
          try {
            for (const { revision } of await store.changes(after, 5)) seen.push((after = revision));
          } catch (error) {
            if (!(error instanceof CompactedError)) throw error;
            gaps.push([after, error.compactRevision]);
            after = error.compactRevision;
          }
        }
        return { seen, gaps };
      };
      const readers = stores.slice(1).map(reader);
      const acknowledged = (await writeAll(20)).flatMap(({ revisions }) => revisions).sort((x, y) => x - y);
      last = acknowledged.at(-1) ?? 0;
      for (const { seen, gaps } of await Promise.all(readers)) {
        const isGone = (revision: number): boolean => gaps.some(([from, to]) => revision > from && revision <= to);
        expect(seen).to.deep.equal(acknowledged.filter((revision) => !isGone(revision)));
      }
      isDone = true;
      await compactor;
      expect(compacted).to.be.above(100);
      expect(await latestDeadlock()).to.not.include(database.database);
    });
  });
});
