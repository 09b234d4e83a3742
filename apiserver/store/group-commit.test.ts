import { expect } from 'chai';

import { GroupCommit } from './group-commit.ts';
import type { GroupCommitOptions } from './group-commit-options.ts';
import { createSqliteStore } from './sqlite/sqlite-store.ts';
import type { Committed, Operation, Outcome, Store } from './store.ts';
import { StoreError } from './store-error.ts';

interface Commit {
  readonly keys: readonly string[];
  /** Finishes the commit: each operation is written, unless `outcomes` has another outcome for its key. */
  finish(outcomes?: Readonly<Record<string, Outcome>>): Promise<void>;
  fail(error: Error): Promise<void>;
}

/**
 * Waits for a commit that starts at the end of the current turn of the event loop, and for its effects in the next
 * turns.
 */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

const operation = (key: string, rest: Partial<Operation> = {}): Operation => ({ op: 'create', key, kind: 1, ...rest });

/** Returns a store, and its commits. A commit stays pending until the test calls `finish` or `fail`. */
function manualStore(): { readonly store: Store; readonly commits: Commit[] } {
  const commits: Commit[] = [];
  let revision = 0;
  const commit = (batch: readonly Operation[]): Promise<Committed> =>
    new Promise((resolve, reject) => {
      const keys = batch.map(({ key }) => key);
      const finish = (outcomes: Readonly<Record<string, Outcome>> = {}): Promise<void> => {
        resolve({ before: revision, outcomes: keys.map((key) => outcomes[key] ?? { revision: ++revision }) });
        return settled();
      };
      const fail = (error: Error): Promise<void> => {
        reject(error);
        return settled();
      };
      commits.push({ keys, finish, fail });
    });
  return { store: { commit } as Partial<Store> as Store, commits };
}

function setUp(options: Partial<GroupCommitOptions> = {}): {
  group: GroupCommit;
  commits: Commit[];
  errors: unknown[];
} {
  const { store, commits } = manualStore();
  const errors: unknown[] = [];
  return { group: new GroupCommit(store, { onError: (error) => errors.push(error), ...options }), commits, errors };
}

/** Finishes the commit at the position `first`, and all later ones. Resolves when no operation is queued or running. */
async function finishFrom(
  first: number,
  { group, commits }: { readonly group: GroupCommit; readonly commits: readonly Commit[] },
): Promise<void> {
  for (let at = first; !group.isIdle();) {
    const commit = commits[at];
    if (commit === undefined) await settled();
    else {
      at += 1;
      await commit.finish();
    }
  }
}

const keysOf = (commits: readonly Commit[]): unknown => commits.map(({ keys }) => keys);

describe('GroupCommit batches', () => {
  it('commits at the end of the turn when idle, and puts all operations that arrive during a commit into the next batch', async () => {
    const { group, commits } = setUp();
    for (const key of ['/a', '/b']) void group.submit(operation(key));
    await settled();
    for (const key of ['/c', '/d']) void group.submit(operation(key));
    await settled();
    expect(keysOf(commits)).to.deep.equal([['/a', '/b']]);
    await commits[0]?.finish();
    expect(keysOf(commits)).to.deep.equal([
      ['/a', '/b'],
      ['/c', '/d'],
    ]);
    await commits[1]?.finish();
    expect([group.isIdle(), commits.length]).to.deep.equal([true, 2]);
  });

  it('limits the operations and the bytes of a batch, and commits a large operation alone', async () => {
    const { group, commits } = setUp({ maxOperations: 3, maxBytes: 100 });
    const sizes = { '/a': 10, '/b': 10, '/c': 10, '/d': 60, '/e': 41, '/f': 500, '/g': 1 };
    for (const [key, size] of Object.entries(sizes)) void group.submit(operation(key, { data: new Uint8Array(size) }));
    for (let at = 0; !group.isIdle(); at += 1) {
      await settled();
      await commits[at]?.finish();
    }
    expect(keysOf(commits)).to.deep.equal([['/a', '/b', '/c'], ['/d'], ['/e'], ['/f'], ['/g']]);
  });

  it('puts operations on the same key into different batches, in order', async () => {
    const { group, commits } = setUp();
    const done: string[] = [];
    for (const [at, key] of ['/a', '/a', '/b', '/a', '/b'].entries()) {
      void group.submit(operation(key)).then(() => done.push(`${key}${at}`));
    }
    for (const at of [0, 1, 2]) {
      await settled();
      await commits[at]?.finish();
    }
    expect(keysOf(commits)).to.deep.equal([['/a', '/b'], ['/a', '/b'], ['/a']]);
    expect(done).to.deep.equal(['/a0', '/b2', '/a1', '/b4', '/a3']);
  });

  it('keeps the order of operations on a key, even if an operation arrives while an earlier one is still queued', async () => {
    const { group, commits } = setUp({ maxOperations: 2 });
    for (const key of ['/a', '/b', '/c', '/d', '/a']) void group.submit(operation(key));
    await settled();
    await commits[0]?.finish();
    void group.submit(operation('/a'));
    for (const at of [1, 2, 3]) await commits[at]?.finish();
    expect(keysOf(commits)).to.deep.equal([['/a', '/b'], ['/c', '/d'], ['/a'], ['/a']]);
  });

  it('puts two operations that add or remove the same claim into different batches', async () => {
    const { group, commits } = setUp();
    const unique = (...values: string[]): Partial<Operation> => {
      return { unique: { add: [[1, values[0] ?? '']], remove: values.slice(1).map((value) => [1, value]) } };
    };
    void group.submit(operation('/a', unique('x', 'x', 'y')));
    void group.submit(operation('/b', unique('y', 'z')));
    void group.submit(operation('/c', unique('z')));
    void group.submit(operation('/d', unique('w')));
    void group.submit(operation('/e', { ...unique('x'), kind: 2 }));
    for (const at of [0, 1, 2]) {
      await settled();
      await commits[at]?.finish();
    }
    expect(keysOf(commits)).to.deep.equal([['/a', '/d', '/e'], ['/b'], ['/c']]);
  });

  it('puts an operation that requires a claim, and an operation that changes this claim, into different batches, in the order of their submission', async () => {
    const { group, commits } = setUp();
    const claim = { kind: 2, claim: [1, 'x'] } as const;
    const requires = [{ kind: 2, claim: [1, 'y'] }, claim] as const;
    const changes = { kind: 2, unique: { add: [], remove: [[1, 'x']] } } as const;
    void group.submit(operation('/a', { requires }));
    void group.submit(operation('/b', { requires }));
    void group.submit(operation('/lease', { ...changes, requires }));
    void group.submit(operation('/c', { requires }));
    void group.submit(operation('/d', { requires: [{ ...claim, kind: 3 }] }));
    for (const at of [0, 1, 2]) {
      await settled();
      await commits[at]?.finish();
    }
    expect(keysOf(commits)).to.deep.equal([['/a', '/b', '/d'], ['/lease'], ['/c']]);
    expect(group.isIdle()).to.equal(true);
  });

  it('delays only the operations on a key that has many operations, not those on other keys', async () => {
    const { group, commits } = setUp({ maxOperations: 2 });
    for (let at = 0; at < 5; at += 1) void group.submit(operation('/hot'));
    for (const key of ['/a', '/b', '/c']) void group.submit(operation(key));
    for (let at = 0; !group.isIdle(); at += 1) {
      await settled();
      await commits[at]?.finish();
    }
    expect(keysOf(commits.slice(0, 3))).to.deep.equal([['/hot', '/a'], ['/b', '/c'], ['/hot']]);
    expect(commits.flatMap(({ keys }) => keys)).to.have.lengthOf(8);
  });

  it('yields to other work of the event loop, even if the store responds and the writers submit immediately', async () => {
    let commits = 0;
    const commit = async (batch: readonly Operation[]): Promise<Committed> => {
      commits += 1;
      return { before: 0, outcomes: batch.map(() => ({ revision: 1 })) };
    };
    const group = new GroupCommit({ commit } as Partial<Store> as Store, {
      onError: (error) => expect.fail(String(error)),
    });
    let isOver = false;
    const write = async (key: string): Promise<void> => {
      while (!isOver && commits < 1_000) await group.submit(operation(key));
    };
    const writers = Array.from({ length: 100 }, (_, at) => write(`/${at}`));
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    isOver = true;
    await Promise.all(writers);
    expect(commits).to.be.within(2, 20);
  });

  it('while it delivers results, sends the next batch: at most half of the operations that are queued or being delivered', async () => {
    const { group, commits } = setUp();
    const told: string[] = [];
    for (let at = 0; at < 100; at += 1) void group.submit(operation(`/${at}`)).then(() => told.push('answered'));
    const { finish } = commits[0] as Commit;
    const finished = finish();
    await Promise.resolve();
    expect([commits.length, told]).to.deep.equal([2, []]);
    await finished;
    await commits[1]?.finish();
    await commits[2]?.finish();
    expect(commits.map(({ keys }) => keys.length)).to.deep.equal([32, 50, 18]);
    expect([told.length, group.isIdle()]).to.deep.equal([100, true]);
  });

  it('puts all queued operations into one batch when other processes write to the store', async () => {
    const { store, commits } = manualStore();
    const onError = (error: unknown): void => expect.fail(String(error));
    const group = new GroupCommit({ ...store, isShared: true }, { onError, follow: async () => undefined });
    for (const [at, count] of [40, 70].entries()) {
      for (let number = 0; number < count; number += 1) void group.submit(operation(`/${at}-${number}`));
      await settled();
    }
    expect(commits.map(({ keys }) => keys.length)).to.deep.equal([40]);
    await commits[0]?.finish();
    expect(commits.map(({ keys }) => keys.length)).to.deep.equal([40, 70]);
  });

  it('queues up to 10,000 operations, and rejects further ones with 429 and Retry-After', async () => {
    const { group, commits } = setUp();
    void group.submit(operation('/first'));
    await settled();
    for (let at = 0; at < 10_000; at += 1) void group.submit(operation(`/${at}`));
    const error = await group.submit(operation('/late')).catch((reason: unknown) => reason);
    expect(error).to.include({ name: 'ApiError', reason: 'TooManyRequests', code: 429, retryAfterSeconds: 1 });
    await commits[0]?.finish();
    void group.submit(operation('/now'));
    await finishFrom(1, { group, commits });
    expect(commits.flatMap(({ keys }) => keys)).to.have.lengthOf(10_002);
  });
});

describe('GroupCommit outcomes', () => {
  it('applies all operations of a batch in the order of revisions, before any of their promises resolves', async () => {
    const { group, commits } = setUp();
    const told: string[] = [];
    for (const key of ['/a', '/b', '/c', '/d']) {
      const apply = (revision: number): void => void told.push(`apply ${revision}`);
      void group.submit(operation(key), apply).then((outcome) => told.push(JSON.stringify(outcome)));
    }
    await settled();
    await commits[0]?.finish({ '/a': { revision: 9 }, '/b': { conflict: 'exists' }, '/c': { revision: 7 } });
    expect(told).to.deep.equal([
      'apply 1',
      'apply 7',
      'apply 9',
      '{"revision":9}',
      '{"conflict":"exists"}',
      '{"revision":7}',
      '{"revision":1}',
    ]);
  });

  it('settles at most 16 operations of a large batch in each turn of the event loop, after all of them are applied', async () => {
    const { group, commits } = setUp();
    let applied = 0;
    let settledNow = 0;
    const submitMany = (count: number, prefix: string): void => {
      for (let at = 0; at < count; at += 1) {
        void group.submit(operation(`/${prefix}-${at}`), () => void (applied += 1)).then(() => (settledNow += 1));
      }
    };
    submitMany(1, 'first');
    await settled();
    submitMany(400, 'more');
    await commits[0]?.finish();
    settledNow = 0;
    const finished = commits[1]?.finish();
    const perTurn: number[] = [];
    for (let turn = 0; turn < 20; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      if (settledNow > 0) perTurn.push(settledNow);
      settledNow = 0;
      if (turn === 4) expect([applied, group.isCommitting()]).to.deep.equal([202, true]);
    }
    await finished;
    expect(perTurn).to.deep.equal([...Array.from({ length: 12 }, () => 16), 9]);
    await commits[2]?.finish();
    await group.drain();
    expect(applied).to.equal(401);
  });

  it('settles the refused operations of a large batch in the same turns as the written ones, and in one turn if all are refused', async () => {
    const { group, commits } = setUp();
    for (const written of [0, 20]) {
      const conflicts: Record<string, Outcome> = {};
      let settledNow = 0;
      void group.submit(operation(`/first-${written}`));
      await settled();
      const first = commits.length - 1;
      for (let at = 0; at < 120; at += 1) {
        const key = `/${written}-${at}`;
        if (at >= written) conflicts[key] = { conflict: 'generation' };
        void group.submit(operation(key)).then(() => (settledNow += 1));
      }
      await commits[first]?.finish();
      const finished = commits[first + 1]?.finish(conflicts);
      const perTurn: number[] = [];
      for (let turn = 0; turn < 8; turn += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        if (settledNow > 0) perTurn.push(settledNow);
        settledNow = 0;
      }
      await finished;
      expect(perTurn).to.deep.equal(written === 0 ? [61] : [16, 45]);
      await finishFrom(first + 2, { group, commits });
    }
  });

  it('settles batches in their order, however many turns of the event loop each takes', async () => {
    const { group, commits } = setUp();
    const told: string[] = [];
    const keys = Array.from({ length: 100 }, (_, at) => `/${at}`);
    for (const key of [...keys, ...keys]) void group.submit(operation(key)).then(() => told.push(key));
    await finishFrom(0, { group, commits });
    expect(commits.length).to.be.greaterThan(3);
    expect(told).to.have.lengthOf(200);
    const order = commits.flatMap((commit) => commit.keys);
    expect(told).to.deep.equal(order);
  });

  it('reports an error that an apply function throws, and calls the other apply functions', async () => {
    const { group, commits, errors } = setUp();
    const applied: number[] = [];
    const broken = new Error('broken');
    const first = group.submit(operation('/a'), () => {
      throw broken;
    });
    void group.submit(operation('/b'), (revision) => applied.push(revision));
    await settled();
    await commits[0]?.finish();
    expect([await first, applied, errors]).to.deep.equal([{ revision: 1 }, [2], [broken]]);
  });

  it('rejects all operations of a batch when the store crashes, does not retry them, and commits the next batch', async () => {
    const { group, commits } = setUp();
    const lost = ['/a', '/b'].map((key) => group.submit(operation(key)).catch((reason: unknown) => reason));
    const next = group.submit(operation('/a'));
    await settled();
    const error = new StoreError('crashed', 'gone');
    await commits[0]?.fail(error);
    expect(await Promise.all(lost)).to.deep.equal([error, error]);
    await commits[1]?.finish();
    expect([await next, keysOf(commits)]).to.deep.equal([{ revision: 1 }, [['/a', '/b'], ['/a']]]);
  });

  it('applies a batch only after memory has all changes up to the revision before the batch', async () => {
    const told: string[] = [];
    const following: { readonly before: number; readonly resolve: () => void }[] = [];
    const follow = (before: number): Promise<void> =>
      new Promise((resolve) => following.push({ before, resolve: () => resolve() }));
    const { group, commits } = setUp({ follow, onIdle: () => told.push('idle') });
    const submit = (key: string): void =>
      void group.submit(operation(key), (revision) => told.push(`${key} at ${revision}`));
    submit('/a');
    await settled();
    submit('/b');
    await commits[0]?.finish();
    await commits[1]?.finish();
    expect([told, following.map(({ before }) => before)]).to.deep.equal([[], [0]]);
    following[0]?.resolve();
    await settled();
    expect([told, following.map(({ before }) => before)]).to.deep.equal([['/a at 1'], [0, 1]]);
    following[1]?.resolve();
    await settled();
    expect(told).to.deep.equal(['/a at 1', '/b at 2', 'idle']);
  });

  it('commits no third batch until memory has the changes that precede the first batch', async () => {
    let go: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (go = resolve));
    const { group, commits } = setUp({ follow: () => held });
    const writes = Array.from({ length: 5 }, async (_, at) => group.submit(operation(`/${at}`)));
    for (let at = 0; at < 5; at += 1) {
      await settled();
      void group.submit(operation(`/more-${at}`));
      await commits[at]?.finish();
    }
    expect(commits).to.have.lengthOf(2);
    go();
    await settled();
    await commits[2]?.finish();
    await Promise.all(writes);
    expect(commits).to.have.lengthOf(3);
  });

  it('halves a refused batch until only the operation that causes the refusal fails', async () => {
    const store = createSqliteStore({ memory: true });
    await store.open();
    const group = new GroupCommit(store, { onError: (error) => expect.fail(String(error)) });
    const applied: number[] = [];
    const submitted = Array.from({ length: 9 }, (_, at) => {
      // SQLite refuses a batch in which an operation has no data.
      const data = at === 5 ? {} : { data: new Uint8Array([at]) };
      return group.submit(operation(`/${at}`, data), (revision) => applied.push(revision));
    });
    const results = await Promise.allSettled(submitted);
    expect(results.flatMap(({ status }, at) => (status === 'rejected' ? [at] : []))).to.deep.equal([5]);
    expect(results[5]).to.have.nested.property('reason.code', 'refused');
    expect(applied).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8]);
    await store.close();
  });

  it('applies a batch first, and then both halves of the next batch, which is split because the store refused it', async () => {
    const applied: string[] = [];
    let commits = 0;
    const commit = async (batch: readonly Operation[]): Promise<Committed> => {
      commits += 1;
      if (commits === 2) throw new StoreError('refused', 'one of them');
      return { before: 0, outcomes: batch.map((_, at) => ({ revision: commits * 1_000 + at })) };
    };
    const group = new GroupCommit({ commit } as Partial<Store> as Store, {
      onError: (error) => expect.fail(String(error)),
    });
    const apply = (key: string) => (): void => void applied.push(key);
    const keys = Array.from({ length: 40 }, (_, at) => `/${at}`);
    await Promise.all(keys.map((key) => group.submit(operation(key), apply(key))));
    expect(applied).to.deep.equal(keys);
  });

  it('close rejects new operations, and resolves when the queued operations are committed', async () => {
    const { group, commits } = setUp();
    await group.drain();
    void group.submit(operation('/a'));
    let isClosed = false;
    const closing = group.close().then(() => (isClosed = true));
    const error = await group.submit(operation('/b')).catch((reason: unknown) => reason);
    expect(error).to.include({ name: 'StoreError', code: 'closed' });
    await settled();
    expect([isClosed, group.isIdle()]).to.deep.equal([false, false]);
    await commits[0]?.finish();
    await closing;
    expect([isClosed, group.isIdle()]).to.deep.equal([true, true]);
  });
});
