import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { PostgresTestServer, runOn, withCounterLocked } from './postgres-database.test-support.ts';
import {
  bytes,
  committed,
  create,
  key,
  kind,
  rejectionOf,
  revisionOf,
  scanned,
  written,
} from '../store-operations.fixture.ts';
import { CompactedError, type Store } from '../store.ts';

interface Followed {
  /** Revisions that the writers were told, in order. */
  readonly acknowledged: readonly number[];
  /** Of each reader, in the order of its reading. */
  readonly seen: readonly (readonly number[])[];
}

async function writeObject(store: Store, name: string, writes: number): Promise<number[]> {
  const revisions = await written(store, create(name, '0'));
  while (revisions.length < writes) {
    const expected = revisions.at(-1) ?? 0;
    const update = {
      op: 'update',
      key: key(name),
      kind,
      expect: expected,
      data: bytes(`${revisions.length}`),
    } as const;
    revisions.push(...(await written(store, update)));
  }
  return revisions;
}

/** Reads without pause, each time from the last revision on, until `isOver` held before a read of nothing. */
async function follow(store: Store, isOver: () => boolean): Promise<number[]> {
  const seen: number[] = [];
  for (;;) {
    const wasOver = isOver();
    const changes = await store.changes(seen.at(-1) ?? 0, 100);
    seen.push(...changes.map(({ revision }) => revision));
    if (wasOver && changes.length === 0) return seen;
  }
}

/** 16 writers over all stores, and a reader at each but the first. */
async function writeAndFollow(stores: readonly Store[]): Promise<Followed> {
  let isOver = false;
  const reading = stores.slice(1).map((store) => follow(store, () => isOver));
  const writing = Array.from({ length: 16 }, async (_, at) => {
    const store = stores[at % stores.length];
    return store ? writeObject(store, `n${at}`, 20) : [];
  });
  const acknowledged = (await Promise.all(writing)).flat().sort((a, b) => a - b);
  isOver = true;
  return { acknowledged, seen: await Promise.all(reading) };
}

/** Revisions from a sequence, and no lock: they are in the order of allocation, not of commit. */
const sequenceForCounter = `DROP TABLE homeostat_counter;
  CREATE SEQUENCE homeostat_allocated;
  CREATE VIEW homeostat_counter AS SELECT 1 AS id, nextval('homeostat_allocated') AS revision;
  CREATE FUNCTION ignore_update() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
  CREATE TRIGGER ignore_update INSTEAD OF UPDATE ON homeostat_counter FOR EACH ROW EXECUTE FUNCTION ignore_update()`;

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

  it('write one history, each told what came before its own batch', async () => {
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

  it('write nothing with the unique indexes of before, once another store has set others', async () => {
    const { one, other } = await openTwo();
    const old = await one.setClaims(kind, { indexes: [], claims: [], revision: 0 });
    const next = await other.setClaims(kind, { indexes: [1], claims: [], revision: 0 });
    expect(await committed(one, [{ ...create('a', '1'), ...old }])).to.deep.equal([{ conflict: 'generation' }]);
    expect(await written(one, { ...create('a', '1'), ...next })).to.deep.equal([1]);
    await closeAll([one, other]);
  });

  it('decide on generations and claims by what was committed when it is their turn, not when they asked', async () => {
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

  it('show 3 readers each change of 16 writers once, in order', async () => {
    const { stores } = await server.openSeveral(4);
    const { acknowledged, seen } = await writeAndFollow(stores);
    expect(new Set(acknowledged).size).to.equal(320);
    expect(seen).to.deep.equal([acknowledged, acknowledged, acknowledged]);
    await closeAll(stores);
  });

  it('would not, if revisions came from a sequence: the test before this one sees it', async () => {
    const {
      stores: [first],
      url,
    } = await server.openSeveral(1);
    await first?.close();
    await runOn(url, sequenceForCounter);
    const { stores } = await server.openSeveral(4, url);
    const { acknowledged, seen } = await writeAndFollow(stores);
    expect(new Set(acknowledged).size).to.equal(320);
    const missed = seen.map((each) => acknowledged.filter((revision) => !each.includes(revision)).length);
    expect(Math.max(...missed)).to.be.above(0);
    await closeAll(stores);
  });

  it('lose no change to a compaction without saying so', async () => {
    const { stores } = await server.openSeveral(4);
    const [writer, reader, ...compactors] = stores;
    if (!writer || !reader) throw new Error('four were opened');
    let isOver = false;
    const compacting = compactors.map(async (store) => {
      let dropped = 0;
      while (!isOver) dropped += await store.compact((await store.currentRevision()) - 10, 7);
      return dropped;
    });
    const reading = followThroughCompactions(reader, () => isOver);
    const revisions = await Promise.all(Array.from({ length: 8 }, (_, at) => writeObject(writer, `n${at}`, 25)));
    isOver = true;
    const dropped = (await Promise.all(compacting)).reduce((sum, each) => sum + each, 0);
    const { seen, gaps } = await reading;
    const missed = revisions.flat().filter((revision) => !seen.includes(revision));
    expect(missed.every((revision) => gaps.some(([from, to]) => revision > from && revision <= to))).to.equal(true);
    expect(seen).to.deep.equal([...new Set(seen)].sort((a, b) => a - b));
    const error = await rejectionOf(reader.changes(0, 1));
    const from = error instanceof CompactedError ? error.compactRevision : 0;
    expect(dropped).to.be.above(0);
    expect(dropped + (await reader.changes(from, 1000)).length).to.equal(200);
    await closeAll(stores);
  });

  it('wake for each other’s commits at once', async () => {
    const url = await server.createSchema();
    // Stands still: but for the questions at the start, nothing is heard that is not announced.
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

/** Reads on after what is compacted; answers what it was told to be gone, too. */
async function followThroughCompactions(
  store: Store,
  isOver: () => boolean,
): Promise<{ seen: number[]; gaps: [from: number, to: number][] }> {
  const seen: number[] = [];
  const gaps: [number, number][] = [];
  for (let after = 0; ;) {
    const wasOver = isOver();
    try {
      const changes = await store.changes(after, 5);
      if (wasOver && changes.length === 0) return { seen, gaps };
      seen.push(...changes.map(({ revision }) => revision));
      after = seen.at(-1) ?? after;
    } catch (error) {
      if (!(error instanceof CompactedError)) throw error;
      gaps.push([after, error.compactRevision]);
      after = error.compactRevision;
    }
  }
}
