import { expect } from 'chai';
import { bytes, create, key, kind, rejectionOf } from '../store-operations.fixture.ts';
import { StoreError } from '../store-error.ts';
import type { Committed, Operation, RequiredClaim } from '../store.ts';
import { MergedCommits } from './merged-commits.ts';

/** A store whose commits stay pending until the test ends them. */
class SlowStore {
  readonly batches: (readonly Operation[])[] = [];
  #revision = 0;
  #settle: ((fail?: StoreError) => void) | undefined;

  async commit(batch: readonly Operation[]): Promise<Committed> {
    this.batches.push(batch);
    await new Promise<void>((resolve, reject) => {
      this.#settle = (fail) => (fail === undefined ? resolve() : reject(fail));
    });
    const before = this.#revision;
    return { before, outcomes: batch.map(() => ({ revision: (this.#revision += 1) })) };
  }

  /** Ends the running commit, and lets the next one begin. */
  async end(fail?: StoreError): Promise<void> {
    this.#settle?.(fail);
    await settled();
  }

  get names(): readonly string[] {
    return this.batches.map((batch) => batch.map((operation) => operation.key.split('/').at(-1)).join());
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('commits of several writers', () => {
  let store: SlowStore;
  let published: number[];
  let commits: MergedCommits;

  beforeEach(() => {
    store = new SlowStore();
    published = [];
    commits = new MergedCommits({
      store,
      onCommitted: async ({ revision }) => void published.push(revision),
    });
  });

  it('are merged when they arrive during another commit; the result of each names the revision that precedes its own changes', async () => {
    const first = commits.commit([create('a', '')]);
    const second = commits.commit([create('b', ''), create('c', '')]);
    const third = commits.commit([create('d', '')]);
    expect(store.names).to.deep.equal(['a']);
    await store.end();
    expect(await first).to.deep.equal({ before: 0, outcomes: [{ revision: 1 }] });
    await store.end();
    expect(store.names).to.deep.equal(['a', 'b,c,d']);
    expect(await second).to.deep.equal({ before: 1, outcomes: [{ revision: 2 }, { revision: 3 }] });
    expect(await third).to.deep.equal({ before: 3, outcomes: [{ revision: 4 }] });
    expect(published).to.deep.equal([1, 4]);
  });

  it('are not merged when they change the same key, or when one changes a claim that the other changes or requires', async () => {
    const requires: readonly RequiredClaim[] = [{ kind, claim: [1, 'v'] }];
    const update: Operation = { op: 'update', key: key('a'), kind, expect: 1, data: bytes('2') };
    const batches: readonly (readonly Operation[])[] = [
      [create('first', '')],
      [create('a', '')],
      [update],
      [create('b', '', [[1, 'v']])],
      [{ ...create('c', ''), requires }],
      [{ ...create('d', ''), requires }],
      [{ op: 'delete', key: key('b'), kind, expect: 4, unique: { add: [], remove: [[1, 'v']] } }],
    ];
    const all = Promise.all(batches.map((batch) => commits.commit(batch)));
    for (let commit = 0; commit < 5; commit += 1) await store.end();
    await all;
    expect(store.names).to.deep.equal(['first', 'a', 'a,b', 'c,d', 'b']);
  });

  it('are repeated one by one when the store refuses the merged commit; then only the faulty commit rejects', async () => {
    const all = ['first', 'a', 'bad', 'c'].map((name) => commits.commit([create(name, '')]));
    const bad = rejectionOf(all[2] ?? Promise.resolve());
    const refused = new StoreError('refused', 'NOT NULL');
    await store.end();
    await store.end(refused);
    await store.end();
    await store.end(refused);
    await store.end();
    expect(store.names).to.deep.equal(['first', 'a,bad,c', 'a', 'bad', 'c']);
    expect(await bad).to.equal(refused);
    expect((await all[3])?.outcomes).to.deep.equal([{ revision: 3 }]);
  });

  it('all fail when the store fails to write the merged commit', async () => {
    const all = ['first', 'a', 'b'].map((name) => rejectionOf(commits.commit([create(name, '')])));
    const full = new StoreError('full', 'the disk is full');
    await store.end();
    await store.end(full);
    expect(await Promise.all(all)).to.deep.equal([undefined, full, full]);
    expect(published).to.deep.equal([1]);
  });

  it('resolve in their order, each after its changes have been sent; the next commit does not wait until they are sent', async () => {
    const sent: (() => void)[] = [];
    commits = new MergedCommits({ store, onCommitted: () => new Promise((resolve) => sent.push(resolve)) });
    const answered: string[] = [];
    const both = ['a', 'b'].map(async (name) => {
      await commits.commit([create(name, '')]);
      answered.push(name);
    });
    await store.end();
    await store.end();
    expect(store.names).to.deep.equal(['a', 'b']);
    sent[1]?.();
    await settled();
    expect(answered).to.deep.equal([]);
    sent[0]?.();
    await Promise.all(both);
    expect(answered).to.deep.equal(['a', 'b']);
  });

  it('are not merged when they are large', async () => {
    const large = (name: string): readonly Operation[] => [create(name, 'x'.repeat(5 * 1024 * 1024))];
    const all = [[create('first', '')], large('a'), large('b')].map((batch) => commits.commit(batch));
    for (let commit = 0; commit < 3; commit += 1) await store.end();
    await Promise.all(all);
    expect(store.names).to.deep.equal(['first', 'a', 'b']);
  });
});
