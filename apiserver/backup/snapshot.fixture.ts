import { randomUUID } from 'node:crypto';
import { compareCodePoints } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';

import { bytes, create, key, rejectionOf, revisionOf, text, written } from '../store/store-operations.fixture.ts';
import type { Change, Operation, Row, Store } from '../store/store.ts';
import { Snapshot } from './snapshot.ts';

const plurals = ['ants', 'bees', 'cats'];

function creation(name: string, kind: number, size = 1200): Operation {
  return { op: 'create', key: key(name, plurals[kind - 1]), kind, data: new Uint8Array(size).fill(97) };
}

/** Creates several pages of objects of each of three kinds. */
async function fill(store: Store): Promise<void> {
  for (const [at] of plurals.entries()) {
    await written(store, ...Array.from({ length: 2000 }, (_, n) => creation(`n${n}`, at + 1)));
  }
}

async function collected(snapshot: Snapshot, between: (page: readonly Row[]) => Promise<void>): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const page of snapshot.pages()) {
    rows.push(...page);
    await between(page);
  }
  return rows;
}

/** Returns the state at a revision, computed from the log. */
async function stateAt(store: Store, revision: number): Promise<readonly unknown[]> {
  const present = new Map<string, Change>();
  for (const change of await store.changes(0, 1_000_000)) {
    if (change.revision > revision) break;
    if (change.op === 'delete') present.delete(change.key);
    else present.set(change.key, change);
  }
  return [...present.values()].sort((a, b) => compareCodePoints(a.key, b.key)).map(readable);
}

function readable(row: { readonly key: string; readonly revision: number; readonly data: Uint8Array }): unknown {
  return [row.key, row.revision, text(row.data)];
}

/** Declares the tests of snapshots. `open` opens the store, before each test; the store is closed after each test. */
export function describeSnapshots(open: () => Promise<Store>): void {
  let store: Store;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  it('a snapshot of an empty store contains no objects', async () => {
    expect(await collected(await Snapshot.of(store), async () => undefined)).to.deep.equal([]);
  });

  it('contains the objects of its revision, although objects are created, changed and deleted while it is read', async () => {
    await fill(store);
    const snapshot = await Snapshot.of(store);
    const expected = await stateAt(store, snapshot.revision);
    const revisions = new Map((await store.changes(0, 10_000)).map((change) => [change.key, change.revision]));
    const writes: Operation[][] = plurals.map((plural, at) => {
      const kind = at + 1;
      const revisionBefore = (name: string): number => revisions.get(key(name, plural)) ?? 0;
      return [
        creation('a-new-one', kind),
        creation('n1999-and-more', kind),
        { op: 'update', key: key('n0', plural), kind, expect: revisionBefore('n0'), data: bytes('changed') },
        { op: 'update', key: key('n999', plural), kind, expect: revisionBefore('n999'), data: bytes('changed') },
        { op: 'delete', key: key('n5', plural), kind, expect: revisionBefore('n5') },
        { op: 'delete', key: key('n998', plural), kind, expect: revisionBefore('n998') },
      ];
    });
    let pages = 0;
    const rows = await collected(snapshot, async () => {
      pages += 1;
      if (pages === 1) for (const batch of writes) await written(store, ...batch);
      if (pages === 2) await written(store, creation('n998', 1), creation('n998', 3), creation('n5', 3));
    });
    expect(pages).to.be.above(3);
    expect(rows.map(readable)).to.deep.equal(expected);
  });

  it('a snapshot contains the only object of a kind, although a client deletes it before the snapshot is read', async () => {
    const created = await store.commit([creation('only', 2, 10), creation('other', 3, 10)]);
    const [only = 0, other = 0] = created.outcomes.map(revisionOf);
    const snapshot = await Snapshot.of(store);
    await written(store, { op: 'delete', key: key('only', 'bees'), kind: 2, expect: only }, creation('new', 1));
    await written(store, { op: 'delete', key: key('other', 'cats'), kind: 3, expect: other });
    const rows = await collected(snapshot, async () => undefined);
    expect(rows.map((row) => [row.key, row.revision])).to.deep.equal([
      [key('only', 'bees'), only],
      [key('other', 'cats'), other],
    ]);
  });

  it('a snapshot contains exactly the objects of its revision, although writers change the store meanwhile [slow]', async () => {
    await fill(store);
    let stopped = false;
    const writer = async (seed: number): Promise<void> => {
      const known = new Map<string, number>();
      for (let turn = seed; !stopped; turn += 7) {
        const kind = 1 + (turn % 3);
        const name = key(`n${(turn * 31) % 2000}-${seed}`, plurals[kind - 1]);
        const found = known.get(name);
        const operation: Operation =
          found === undefined
            ? { op: 'create', key: name, kind, data: bytes(`${turn}`) }
            : turn % 2 === 0
              ? { op: 'delete', key: name, kind, expect: found }
              : { op: 'update', key: name, kind, expect: found, data: bytes(`${turn}`) };
        const [revision = 0] = await written(store, operation);
        if (operation.op === 'delete') known.delete(name);
        else known.set(name, revision);
      }
    };
    const writers = [1, 2, 3].map(writer);
    for (let round = 0; round < 3; round += 1) {
      const snapshot = await Snapshot.of(store);
      const rows = await collected(snapshot, async () => undefined);
      expect(await store.currentRevision()).to.be.above(snapshot.revision);
      expect(rows.map(readable)).to.deep.equal(await stateAt(store, snapshot.revision));
    }
    stopped = true;
    await Promise.all(writers);
  });

  it('a read of a snapshot rejects with a CompactedError when the changes since its revision have been compacted', async () => {
    await fill(store);
    const snapshot = await Snapshot.of(store);
    const [revision = 0] = await written(store, create(randomUUID(), ''));
    await store.compact(revision, 1_000_000);
    const failure = await rejectionOf(collected(snapshot, async () => undefined));
    expect(failure).to.have.property('name', 'CompactedError');
  });
}
