import { expect } from 'chai';

import { administer, describeWithMysql, dropDatabases, freshDatabase, storeOn } from './mysql.test-support.ts';
import type { MysqlDatabase } from './mysql-url.ts';
import { bytes, create, key, kind, rejectionOf, revisionOf, written } from '../store-operations.fixture.ts';
import { describeReplicas } from '../store-replicas.contract.ts';
import { type Change, CompactedError, type Operation, type Store } from '../store.ts';

describeWithMysql('MySQL', () => {
  after(dropDatabases);
  describeReplicas('MySQL', async () => {
    const database = await freshDatabase();
    const stores = [1, 2, 3, 4].map(() => storeOn(database));
    await Promise.all(stores.map((store) => store.open()));
    return stores;
  });
});

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

  it('return every change up to the revision in the table counter, and no later change', async () => {
    const [a, b] = pair();
    const shown = async (): Promise<number[]> => (await b.changes(0, 10)).map(({ revision }) => revision);
    await written(a, create('1', ''), create('2', ''), create('3', ''));
    await inDatabase('UPDATE counter SET revision = 2');
    expect(await shown()).to.deep.equal([1, 2]);
    await inDatabase('UPDATE counter SET revision = 3');
    expect(await shown()).to.deep.equal([1, 2, 3]);
  });

  describe('when the history of the database is replaced or compacted', () => {
    const expectDiverged = async (store: Store): Promise<void> => {
      const attempts = [store.commit([create('late', '')]), store.changes(0, 10)];
      for (const error of await Promise.all(attempts.map(rejectionOf))) {
        expect(error).to.include({ name: 'StoreError', code: 'diverged' });
      }
    };

    for (const [what, ...statements] of [
      ['a backup was restored, and has a new epoch', `UPDATE meta SET value = UUID() WHERE name = 'epoch'`],
      ['the revision counter was decreased', 'DELETE FROM log WHERE revision = 2', 'UPDATE counter SET revision = 1'],
      [
        'the last revision in the log belongs to another batch',
        `UPDATE log SET batch = REPEAT('x', 16) WHERE revision = 2`,
      ],
      ['the log does not contain the last revision', 'DELETE FROM log WHERE revision = 2'],
    ] as const) {
      it(`a store that was open before refuses all reads and writes when ${what}`, async () => {
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

    it('a store refuses reads and writes when the database has lost a change that another store wrote and this store has read', async () => {
      const [a, b] = pair();
      await written(b, create('1', ''), create('2', ''));
      expect(await a.changes(0, 10)).to.have.lengthOf(2);
      await inDatabase(`UPDATE log SET batch = REPEAT('x', 16) WHERE revision = 2`);
      await expectDiverged(a);
    });

    it('a store refuses reads and writes when the database has lost changes that other stores wrote before this store was opened', async () => {
      const [a] = pair();
      await written(a, create('1', ''), create('2', ''));
      const late = storeOn(database);
      stores.push(late);
      await late.open();
      await inDatabase('DELETE FROM log WHERE revision = 2', 'UPDATE counter SET revision = 1');
      await expectDiverged(late);
    });

    it('a store refuses reads and writes after another store has started a new history', async () => {
      const [a, b] = pair();
      const begun = await a.startHistory(1_000_000);
      await expectDiverged(b);
      expect(await a.commit([create('1', '')])).to.deep.equal({
        before: 1_000_000,
        outcomes: [{ revision: 1_000_001 }],
      });
      expect(await a.changes(begun.revision, 10)).to.have.lengthOf(1);
    });

    it('accept reads and writes when the history is only compacted', async () => {
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

    /**
     * Creates, changes and deletes an object with a unique value, again and again. Each commit also creates another
     * object.
     */
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

    /**
     * Repeatedly reads the changes after the latest revision that it has read. Ends when `isLast` returns true for that
     * revision.
     */
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

    it('return each change of 16 writers to 3 readers, once and in order [slow]', () => expectOrder(5));

    it('return each change of 16 writers to 3 readers, once and in order, under a long load [slow]', () =>
      expectOrder(30));

    it('return to each reader every change, or a CompactedError for changes that another store has compacted [slow]', async () => {
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
