import { expect } from 'chai';

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
} from './store-operations.fixture.ts';
import { GroupCommit } from './group-commit.ts';
import type { Claim, Operation, Store } from './store.ts';

/** Adds the tests of the log: it is complete and in order, and subscribers receive hints of its changes. */
export function describeChanges(store: () => Store): void {
  it('lists changes in order of revisions, with old and new bytes of the object; a deletion has the last bytes as new bytes', async () => {
    const [a = 0] = await written(store(), create('a', '1'));
    const [b = 0] = await written(store(), { op: 'update', key: key('a'), kind, expect: a, data: bytes('2') });
    const [c = 0] = await written(store(), { op: 'delete', key: key('a'), kind, expect: b });
    const [d = 0] = await written(store(), { ...create('a', '3'), kind });
    const [e = 0] = await written(store(), { op: 'delete', key: key('a'), kind, expect: d, data: bytes('last') });
    const same = { key: key('a'), kind };
    expect((await store().changes(0, 100)).map(readable)).to.deep.equal([
      { ...same, revision: a, op: 'create', data: '1', previous: undefined },
      { ...same, revision: b, op: 'update', data: '2', previous: { revision: a, data: '1' } },
      { ...same, revision: c, op: 'delete', data: '2', previous: { revision: b, data: '2' } },
      { ...same, revision: d, op: 'create', data: '3', previous: undefined },
      { ...same, revision: e, op: 'delete', data: 'last', previous: { revision: d, data: '3' } },
    ]);
  });

  it('returns the first changes after a revision, without gaps, and at most as many as the limit', async () => {
    const batch = Array.from({ length: 1000 }, (_, at) => create(`n${at}`, `${at} ${'x'.repeat(2000)}`));
    const revisions = [
      ...(await written(store(), ...batch)),
      ...(await written(store(), create('z1', ''), create('z2', ''))),
    ];
    for (const limit of [0, 1, 999, 1000, 1001, 1002, 5000]) {
      const found = await store().changes(0, limit);
      expect(found.map(({ revision }) => revision)).to.deep.equal(revisions.slice(0, limit));
    }
    const after = revisions[997] ?? 0;
    expect((await store().changes(after, 100)).map(({ revision }) => revision)).to.deep.equal(revisions.slice(998));
    expect(await store().changes(revisions.at(-1) ?? 0, 100)).to.deep.equal([]);
  });

  it('calls subscribers with the last revision of each batch until they unsubscribe, but not for conflicts', async () => {
    const woken: number[] = [];
    const stop = store().subscribe((revision) => woken.push(revision));
    const revisions = await written(store(), create('a', '1'), create('b', '2'));
    await committed(store(), [create('a', '1')]);
    stop();
    await written(store(), create('c', '3'));
    expect(woken).to.deep.equal(revisions.slice(1));
  });
}

export function describeGroups(store: () => Store): void {
  it('puts the writes of many concurrent writers in one strict order, and the history has the same order', async () => {
    const group = new GroupCommit(store(), { maxOperations: 16, onError: (error) => expect.fail(String(error)) });
    const applied: number[] = [];
    const write = async (name: string): Promise<number[]> => {
      const revisions: number[] = [];
      for (let version = 0; version < 10; version += 1) {
        const before = revisions.at(-1);
        const operation: Operation =
          before === undefined
            ? create(name, '0')
            : { op: 'update', key: key(name), kind, expect: before, data: bytes(`${version}`) };
        revisions.push(revisionOf(await group.submit(operation, (revision) => applied.push(revision))));
        expect(applied).to.include(revisions.at(-1));
      }
      return revisions;
    };
    const all = (await Promise.all(Array.from({ length: 50 }, (_, n) => write(`n${n}`)))).flat();
    const history = (await store().changes(0, 1000)).map(({ revision }) => revision);
    expect(applied).to.deep.equal(history);
    expect(all.sort((a, b) => a - b)).to.deep.equal(history);
    expect(history.every((revision, at) => at === 0 || revision > (history[at - 1] ?? 0))).to.equal(true);
  });

  it('a read of the change log has no gaps while batches are being committed [slow]', async () => {
    const group = new GroupCommit(store(), { maxOperations: 7, onError: (error) => expect.fail(String(error)) });
    const writes = Promise.all(Array.from({ length: 500 }, (_, n) => group.submit(create(`n${n}`, ''))));
    const views: number[][] = [];
    while (!group.isIdle()) views.push((await store().changes(0, 1000)).map(({ revision }) => revision));
    await writes;
    const history = (await store().changes(0, 1000)).map(({ revision }) => revision);
    expect(views.length).to.be.above(3);
    for (const view of views) expect(view).to.deep.equal(history.slice(0, view.length));
  });

  it('of many concurrent creations that claim one unique value, only one succeeds; a new one succeeds after the release', async () => {
    const group = new GroupCommit(store(), { onError: (error) => expect.fail(String(error)) });
    const claim: Claim = [1, 'v'];
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, n) => group.submit(create(`n${n}`, '', [claim]))),
    );
    expect(outcomes.filter((outcome) => 'revision' in outcome)).to.have.lengthOf(1);
    const unique = { add: [], remove: [claim] };
    const release = { op: 'delete', key: key('n0'), kind, expect: revisionOf(outcomes[0]), unique } as const;
    const [, next] = await Promise.all([group.submit(release), group.submit(create('next', '', [claim]))]);
    expect(revisionOf(next)).to.equal(await store().currentRevision());
  });
}

export function describeCompaction(store: () => Store): void {
  it('compacts the oldest changes, at most the given number, and keeps the objects', async () => {
    const revisions = await written(store(), ...Array.from({ length: 10 }, (_, at) => create(`n${at}`, '')));
    const [third = 0, eighth = 0] = [revisions[2], revisions[7]];
    expect(await store().compact(eighth, 3)).to.equal(3);
    expect(await store().changes(third, 1)).to.have.nested.property('[0].revision', revisions[3]);
    expect(await rejectionOf(store().changes(third - 1, 1))).to.include({
      name: 'CompactedError',
      compactRevision: third,
    });
    expect(await store().compact(eighth, 100)).to.equal(5);
    expect(await rejectionOf(store().changes(0, 1))).to.include({ compactRevision: eighth });
    expect((await store().changes(eighth, 100)).map(({ revision }) => revision)).to.deep.equal(revisions.slice(8));
    expect(await scanned(store())).to.have.lengthOf(10);
  });

  it('compact() never decreases compactRevision or sets it above the current revision; removes no change if maxRows is 0', async () => {
    const [a = 0, b = 0] = await written(store(), create('a', '1'), create('b', '2'));
    expect([await store().compact(b, 0), (await store().changes(0, 9)).length]).to.deep.equal([0, 2]);
    expect([await store().compact(b + 1000, 10), await store().compact(a, 10)]).to.deep.equal([2, 0]);
    const [c = 0] = await written(store(), create('c', '3'));
    expect(c).to.be.above(b);
    expect((await store().changes(b, 10)).map(({ revision }) => revision)).to.deep.equal([c]);
    expect(await rejectionOf(store().changes(a, 10))).to.include({ compactRevision: b });
  });
}
