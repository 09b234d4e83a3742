import { expect } from 'chai';

import { PostgresTestServer, runOn } from './postgres-database.test-support.ts';
import { bytes, create, key, kind, rejectionOf, written } from '../store-operations.fixture.ts';
import { CompactedError, type Store } from '../store.ts';

interface Followed {
  /** The revisions of all acknowledged writes, in ascending order. */
  readonly acknowledged: readonly number[];
  /** The revisions that each reader has received, in the order of its reads. */
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

/**
 * Repeatedly reads the changes after the latest revision that it has read. Ends when a read that began after `isOver`
 * became true returns nothing.
 */
async function follow(store: Store, isOver: () => boolean): Promise<number[]> {
  const seen: number[] = [];
  for (;;) {
    const wasOver = isOver();
    const changes = await store.changes(seen.at(-1) ?? 0, 100);
    seen.push(...changes.map(({ revision }) => revision));
    if (wasOver && changes.length === 0) return seen;
  }
}

/** Runs 16 writers, distributed over all stores, and a reader on each store except the first one. */
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

/** A trigger that acts like a busy disk: for every fourth revision, it waits between the assignment and the commit. */
const slowCommits = `CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN IF NEW.revision % 4 = 0 THEN PERFORM pg_sleep(0.004); END IF; RETURN NULL; END';
  CREATE TRIGGER take_time AFTER INSERT ON homeostat_log FOR EACH ROW EXECUTE FUNCTION take_time()`;

/**
 * SQL that makes the store take revisions from a sequence, without a lock. The revisions are then in the order of
 * allocation, and not in the order of commits.
 */
const sequenceForCounter = `DROP TABLE homeostat_counter;
  CREATE SEQUENCE homeostat_allocated;
  CREATE VIEW homeostat_counter AS SELECT 1 AS id, nextval('homeostat_allocated') AS revision;
  CREATE FUNCTION ignore_update() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
  CREATE TRIGGER ignore_update INSTEAD OF UPDATE ON homeostat_counter FOR EACH ROW EXECUTE FUNCTION ignore_update()`;

/**
 * Reads changes like {@link follow}, but continues after compacted changes. Also returns the ranges of revisions that
 * it has missed.
 */
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

async function closeAll(stores: readonly Store[]): Promise<void> {
  await Promise.all(stores.map((store) => store.close()));
}

describe('the order of changes on PostgreSQL', () => {
  const server = PostgresTestServer.use();

  it('is the same for 3 readers, which receive each change of 16 writers once [slow]', async () => {
    const { stores, url } = await server.openSeveral(4);
    await runOn(url, slowCommits);
    const { acknowledged, seen } = await writeAndFollow(stores);
    expect(new Set(acknowledged).size).to.equal(320);
    expect(seen).to.deep.equal([acknowledged, acknowledged, acknowledged]);
    await closeAll(stores);
  });

  it('is not kept if revisions come from a sequence: readers miss changes [slow]', async () => {
    const { stores, url } = await server.openSeveral(4);
    await runOn(url, slowCommits);
    await runOn(url, sequenceForCounter);
    const { acknowledged, seen } = await writeAndFollow(stores);
    expect(new Set(acknowledged).size).to.equal(320);
    const missed = seen.map((each) => acknowledged.filter((revision) => !each.includes(revision)).length);
    expect(Math.min(...missed)).to.be.above(0);
    await closeAll(stores);
  });

  it('is kept during compactions: a reader receives each change, or a CompactedError [slow]', async () => {
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
});
