import { expect } from 'chai';

import {
  bytes,
  committed,
  create,
  key,
  kind,
  rejectionOf,
  revisionOf,
  scanned,
  text,
  written,
} from './store-operations.fixture.ts';
import type { Claim, OpenedStore, Operation, Store } from './store.ts';
import { describeClaims, describeKindClaims, describeRequiredClaims } from './store-claims.contract.ts';
import { describeChanges, describeCompaction, describeGroups } from './store-history.contract.ts';
import { describeStoreModel } from './store-model.contract.ts';

/** An open store whose data no other test uses. */
export interface StoreUnderTest {
  readonly store: Store;
  readonly opened: OpenedStore;
}

/** A store whose data remain after it is closed. */
export interface DurableStoreUnderTest extends StoreUnderTest {
  /** Closes the store, and opens another one on the same data. */
  readonly reopen: () => Promise<StoreUnderTest>;
}

/**
 * Adds the tests of the invariants of {@link Store}. Calls `open` before each test, and closes the store after it.
 * `tier` is ` [slow]` for a store that shares its code with a store in the short tier.
 */
export function describeStoreContract(name: string, open: () => Promise<StoreUnderTest>, tier = ''): void {
  describe(`${name} as a store [spec 1-databases]${tier}`, () => {
    let current: StoreUnderTest;
    beforeEach(async () => {
      current = await open();
    });
    afterEach(() => current.store.close());
    const store = (): Store => current.store;

    describeCommits(store);
    describeClaims(store);
    describeKindClaims(store);
    describeRequiredClaims(store);
    describeChanges(store);
    describeCompaction(store);
    describeScan(store);
    describeGroups(store);
    describeRest(() => current);
    describeStoreModel(store);
  });
}

function describeCommits(store: () => Store): void {
  it('returns outcomes in the order of the batch, with increasing revisions', async () => {
    const [a = 0, b = 0] = await written(store(), create('a', '1'), create('b', '2'));
    const [c = 0] = await written(store(), { op: 'update', key: key('a'), kind, expect: a, data: bytes('3') });
    expect([a < b, b < c, await store().currentRevision()]).to.deep.equal([true, true, c]);
    const rows = await scanned(store());
    expect(rows.map((row) => [row.key, row.revision, text(row.data)])).to.deep.equal([
      [key('a'), c, '3'],
      [key('b'), b, '2'],
    ]);
  });

  it('a commit returns the revision before its batch, whatever the outcome of the batch is', async () => {
    const first = await store().commit([create('a', '1'), create('b', '2')]);
    expect(first.before).to.equal(0);
    const [, b = 0] = first.outcomes.map(revisionOf);
    expect((await store().commit([create('a', 'again')])).before).to.equal(b);
    expect((await store().commit([create('c', '3')])).before).to.equal(b);
  });

  it('refuses only the operations that conflict, and writes the other operations of the batch', async () => {
    const [a = 0] = await written(store(), create('a', '1'));
    const outcomes = await committed(store(), [
      create('x', 'x'),
      create('a', 'again'),
      { op: 'update', key: key('missing'), kind, expect: a, data: bytes('u') },
      { op: 'delete', key: key('gone'), kind, expect: a },
      create('y', 'y'),
    ]);
    expect(outcomes.slice(1, 4)).to.deep.equal([
      { conflict: 'exists' },
      { conflict: 'notFound' },
      { conflict: 'notFound' },
    ]);
    expect(revisionOf(outcomes[0])).to.be.below(revisionOf(outcomes[4]));
    expect((await scanned(store())).map((row) => text(row.data))).to.deep.equal(['1', 'x', 'y']);
  });

  it('refuses an update or a deletion if `expect` is not the revision of the object, or is missing', async () => {
    const [a = 0] = await written(store(), create('a', '1'));
    for (const expected of [{ expect: a + 1 }, { expect: a - 1 }, {}]) {
      const update = { op: 'update', key: key('a'), kind, data: bytes('2'), ...expected } as const;
      expect(await committed(store(), [update])).to.deep.equal([{ conflict: 'revision' }]);
      const remove = { op: 'delete', key: key('a'), kind, ...expected } as const;
      expect(await committed(store(), [remove])).to.deep.equal([{ conflict: 'revision' }]);
    }
    expect(await store().currentRevision()).to.equal(a);
  });

  it('writes no operation of a batch that is refused as a whole, and writes the next batch', async () => {
    const spoilt: Operation = { op: 'create', key: key('b'), kind };
    const error = await rejectionOf(store().commit([create('a', '1', [[1, 'v']]), spoilt, create('c', '3')]));
    expect(error).to.include({ name: 'StoreError', code: 'refused' });
    expect([await scanned(store()), await store().changes(0, 10)]).to.deep.equal([[], []]);
    await written(store(), create('c', '3', [[1, 'v']]));
    expect(await scanned(store())).to.have.lengthOf(1);
  });

  it('does not apply an update of a deleted object to a new object of the same name', async () => {
    const [a = 0] = await written(store(), create('a', '1', [[1, 'v']]));
    await written(store(), { op: 'delete', key: key('a'), kind, expect: a, unique: { add: [], remove: [[1, 'v']] } });
    await written(store(), create('a', '2', [[1, 'v']]));
    const late = { op: 'update', key: key('a'), kind, expect: a, data: bytes('3') } as const;
    const remove: Claim[] = [[1, 'v']];
    expect(await committed(store(), [{ ...late, unique: { add: [], remove } }])).to.deep.equal([
      { conflict: 'revision' },
    ]);
    expect(await committed(store(), [create('b', '4', [[1, 'v']])])).to.deep.equal([
      { conflict: 'unique', holder: key('a'), claim: [1, 'v'] },
    ]);
  });

  it('returns the bytes unchanged: an empty value, each value of a byte, and 3 MB [spec 1-opaque-bytes]', async () => {
    const all = [new Uint8Array(0), Uint8Array.from({ length: 256 }, (_, value) => value), new Uint8Array(3e6).fill(7)];
    // The data are views with an offset, like slices of a request body.
    const views = all.map((data) =>
      new Uint8Array([1, 2, 3, ...data.subarray(0, 256), ...data.subarray(256)]).subarray(3),
    );
    await store().commit(views.map((data, at) => ({ op: 'create', key: key(`n${at}`), kind, data })));
    const rows = await scanned(store());
    expect(rows.map(({ data }, at) => Buffer.compare(data, all[at] ?? bytes('?')))).to.deep.equal([0, 0, 0]);
  });
}

function describeScan(store: () => Store): void {
  const plurals = ['zebras', 'person', 'persons'];
  const fill = async (count: number, size = 1200): Promise<string[]> => {
    const keys: string[] = [];
    for (const [at, plural] of plurals.entries()) {
      const batch = Array.from({ length: count }, (_, n): Operation => {
        return { op: 'create', key: key(`n${n}`, plural), kind: at + 1, data: new Uint8Array(size) };
      });
      await store().commit(batch);
      keys.push(...batch.map((operation) => operation.key));
    }
    return keys;
  };

  it('scans the rows of all kinds in the order of their keys, or the rows of one kind [slow]', async () => {
    const keys = await fill(2500, 10);
    expect((await scanned(store())).map((row) => row.key)).to.deep.equal(keys.sort());
    const ofOne = (await scanned(store(), 2)).map((row) => row.key);
    expect(ofOne).to.have.members(keys.filter((each) => each.startsWith('/registry/example.com/person/')));
    expect(await scanned(store(), 9)).to.deep.equal([]);
  });

  it('a scan during commits returns exactly one row for each object that exists during the whole scan [slow]', async () => {
    await fill(1000);
    const seen = new Map<string, number>();
    let writes = 0;
    for await (const page of store().scan()) {
      for (const row of page) seen.set(row.key, (seen.get(row.key) ?? 0) + 1);
      const last = page.at(-1);
      await written(store(), create(`late-${writes++}`, ''), {
        op: 'update',
        key: last?.key ?? '',
        kind: plurals.findIndex((plural) => last?.key.startsWith(key('', plural))) + 1,
        expect: last?.revision ?? 0,
        data: bytes('new'),
      });
    }
    expect(writes).to.be.above(2);
    const staying = [...seen].filter(([name]) => !name.includes('late'));
    expect([staying.length, staying.every(([, times]) => times === 1)]).to.deep.equal([3000, true]);
  });

  it('accepts a write after a scan that its reader has ended early [slow]', async () => {
    await fill(1500);
    for await (const page of store().scan()) {
      expect(page).to.not.have.lengthOf(0);
      break;
    }
    await written(store(), create('after', ''));
  });
}

function describeRest(current: () => StoreUnderTest): void {
  it('a new database has no objects and no changes, and its epoch is a UUID', async () => {
    const { store, opened } = current();
    expect(opened).to.include({ revision: 0, compactRevision: 0 });
    expect(opened.epoch).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect([await scanned(store), await store.changes(0, 1), await committed(store, [])]).to.deep.equal([[], [], []]);
  });

  it('startHistory gives an empty database a new epoch and a start revision, and refuses any other database', async () => {
    const { store, opened } = current();
    const begun = await store.startHistory(1_000_000);
    expect(begun).to.include({ revision: 1_000_000, compactRevision: 1_000_000 });
    expect(begun.epoch)
      .to.match(/^[0-9a-f-]{36}$/)
      .and.not.equal(opened.epoch);
    expect(await store.currentRevision()).to.equal(1_000_000);
    expect(await rejectionOf(store.changes(999_999, 1))).to.have.property('name', 'CompactedError');
    expect(await written(store, create('a', '1'))).to.deep.equal([1_000_001]);
    expect(await rejectionOf(store.startHistory(2_000_000))).to.include({ name: 'StoreError', code: 'refused' });
    expect(await store.currentRevision()).to.equal(1_000_001);
  });

  it('numberOf assigns 1, 2, … to new names, and returns the same number again for a known name', async () => {
    const { store } = current();
    const names = ['kind:example.com/persons', 'index:x', 'kind:example.com/persons', 'y', 'index:x'];
    expect(await Promise.all(names.map((name) => store.numberOf(name)))).to.deep.equal([1, 2, 1, 3, 2]);
    expect(await store.names('kind:')).to.deep.equal(['kind:example.com/persons']);
    expect((await store.names('')).toSorted()).to.deep.equal(['index:x', 'kind:example.com/persons', 'y']);
    expect(await store.names('%')).to.deep.equal([]);
  });

  it('completes a commit that began before the call of close, and refuses calls after it', async () => {
    const { store } = current();
    const last = store.commit([create('a', '1')]);
    await Promise.all([store.close(), store.close()]);
    expect(revisionOf((await last).outcomes[0])).to.be.above(0);
    const late = [store.commit([create('b', '')]), store.changes(0, 1), store.currentRevision(), store.numberOf('n')];
    for (const error of await Promise.all([...late, scanned(store)].map(rejectionOf))) {
      expect(error).to.include({ name: 'StoreError', code: 'closed' });
    }
  });
}

/** Adds the tests of stores whose data remain after they are closed. */
export function describeDurableStore(name: string, open: () => Promise<DurableStoreUnderTest>, tier = ''): void {
  it(`${name} has the same objects, history, claims and numbers assigned to names (numberOf) after a restart, and accepts writes${tier}`, async () => {
    const { store, opened, reopen } = await open();
    const [a = 0, b = 0] = await written(store, create('a', '1', [[1, 'v']]), create('b', '2'));
    await store.numberOf('first');
    await store.compact(a, 10);
    const claims = { indexes: [1], claims: [{ claim: [1, 'v'], key: key('a') }], revision: b } as const;
    const generation = await store.setClaims(kind, claims);
    const next = await reopen();
    expect(await next.store.claims(kind)).to.deep.include({ ...generation, indexes: [1], revision: b });
    expect(next.opened).to.deep.equal({ revision: b, compactRevision: a, epoch: opened.epoch });
    expect((await scanned(next.store)).map((row) => text(row.data))).to.deep.equal(['1', '2']);
    expect((await next.store.changes(a, 10)).map(({ revision }) => revision)).to.deep.equal([b]);
    expect([await next.store.numberOf('second'), await next.store.numberOf('first')]).to.deep.equal([2, 1]);
    const [lost, won] = await committed(next.store, [create('c', '3', [[1, 'v']]), create('d', '4')]);
    expect(lost).to.include({ conflict: 'unique', holder: key('a') });
    expect(revisionOf(won)).to.be.above(b);
    await next.store.close();
  });
}
