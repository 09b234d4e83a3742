import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import type { EtcdMember } from './etcd-cluster.test-support.ts';
import { EtcdTestCluster, hurriedClock } from './etcd.test-support.ts';
import { parseEtcdUrl } from './etcd-url.ts';
import { findResponse } from './find-response.test-support.ts';
import { GroupCommit } from '../group-commit.ts';
import { FaultProxy } from '../server/fault-proxy.test-support.ts';
import { bytes, create, key, kind, rejectionOf, revisionOf, scanned, written } from '../store-operations.fixture.ts';
import { StoreError } from '../store-error.ts';
import type { Operation, Store } from '../store.ts';

const patient = { timeoutMs: 30_000 };

/** Returns the key of each change in the log. */
async function history(store: Store): Promise<string[]> {
  return (await store.changes(0, 10_000)).map((change) => change.key);
}

/**
 * Writes objects one after the other until `stop` is called. `acknowledged` has the keys of the acknowledged writes.
 */
function keepWriting(store: Store, prefix: string): { readonly acknowledged: string[]; stop(): Promise<void> } {
  const acknowledged: string[] = [];
  let isStopped = false;
  const running = (async () => {
    for (let n = 0; !isStopped; n += 1) {
      try {
        const [outcome] = (await store.commit([create(`${prefix}-${n}`, '')])).outcomes;
        if (outcome && 'revision' in outcome) acknowledged.push(key(`${prefix}-${n}`));
      } catch (error) {
        // A write may fail because the cluster has no leader for a moment. If a test fails, the store is closed before
        // the writes are stopped. The writes then end here.
        isStopped ||= error instanceof StoreError && error.code === 'closed';
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  })();
  const stop = async (): Promise<void> => {
    isStopped = true;
    await running;
  };
  return { acknowledged, stop };
}

/** Expects that each acknowledged write is in the log once, in the order of the responses. */
async function expectAcknowledged(store: Store, acknowledged: readonly string[]): Promise<void> {
  const found = await eventually(() => history(store), patient);
  const known = new Set(acknowledged);
  expect(found.filter((each) => known.has(each))).to.deep.equal(acknowledged);
  expect(new Set(found).size).to.equal(found.length);
}

describe('etcd store, with faults of the connection to a member', () => {
  const etcd = EtcdTestCluster.use({ size: 1 });
  let proxy: FaultProxy;
  let prefix: string;
  let store: Store;

  beforeEach(async () => {
    const [, port = ''] = (etcd.cluster.members[0]?.endpoint ?? '').split(':');
    proxy = await FaultProxy.start({ host: '127.0.0.1', port: Number(port), findAnswer: findResponse });
    ({ prefix } = parseEtcdUrl(etcd.freshUrl(), {}));
    store = await etcd.open(`etcd://127.0.0.1:${proxy.port}${prefix}`, { clock: hurriedClock });
    await written(store, create('before', ''));
  });

  afterEach(async () => {
    await etcd.closeStores();
    await proxy.close();
  });

  for (const [fault, what] of [
    ['cut', 'before a transaction arrives'],
    ['cutAfterAnswer', 'after a transaction, before its response'],
    ['orphan', 'and the transaction arrives later'],
  ] as const) {
    it(`writes exactly once, and reports success, when the connection is lost ${what}`, async () => {
      let isBroken = false;
      proxy.breakAt('the data', fault, () => (isBroken = true));
      const { before, outcomes } = await store.commit([create('a', 'the data', [[1, 'v']]), create('before', '')]);
      proxy.release();
      expect([isBroken, before]).to.deep.equal([true, 1]);
      expect(outcomes).to.deep.equal([{ revision: 2 }, { conflict: 'exists' }]);
      await written(store, create('b', ''));
      expect(await history(store)).to.deep.equal([key('before'), key('a'), key('b')]);
    });
  }

  for (const [fault, what, names] of [
    ['cut', 'not written', ['before', 'b']],
    ['cutAfterAnswer', 'written', ['before', 'a', 'b']],
  ] as const) {
    it(`reports an unknown outcome of a create that was ${what}, when no member responds; later writes succeed [slow]`, async () => {
      proxy.breakAt('the data', fault, () => (proxy.isDown = true));
      expect(await rejectionOf(store.commit([create('a', 'the data')]))).to.include({ code: 'unknown' });
      proxy.isDown = false;
      await eventually(() => written(store, create('b', '')), patient);
      expect(await history(store)).to.deep.equal(names.map((name) => key(name)));
    });
  }

  it('stores a large value when the first transaction that refers to the parts of the value is lost', async () => {
    const large = { ...create('large', ''), data: new Uint8Array(2e6).fill(1) };
    proxy.breakAt('"op":"create"', 'cut');
    expect(await written(store, large)).to.deep.equal([2]);
    expect((await store.changes(1, 1))[0]?.data.byteLength).to.equal(2e6);
  });

  it('fails with io while no member responds, and continues when a member responds', async () => {
    proxy.isDown = true;
    proxy.cutAll();
    expect(await rejectionOf(store.commit([create('a', '')]))).to.include({ code: 'io' });
    expect(await rejectionOf(store.currentRevision())).to.include({ code: 'io' });
    proxy.isDown = false;
    await eventually(() => written(store, create('b', '')), patient);
    expect(await history(store)).to.deep.equal([key('before'), key('b')]);
  });

  it('leaves no connection open when it closes, not even the connection of its watch', async () => {
    const woken: number[] = [];
    store.subscribe((revision) => woken.push(revision));
    await eventually(() => proxy.connections === 2);
    const [revision = 0] = await written(await etcd.open(etcd.cluster.url(prefix)), create('a', ''));
    await eventually(() => woken.includes(revision));
    await store.close();
    await eventually(() => proxy.connections === 0);
  });

  it('drops the parts of a large object once the history does not need them [slow]', async () => {
    const large = (op: Operation): Operation => ({ ...op, data: new Uint8Array(600_000).fill(1) });
    const parts = async (): Promise<number> =>
      (await etcd.cluster.ctl(['get', `${prefix}/part/`, '--prefix', '--keys-only'])).split('\n').filter(Boolean)
        .length;
    const [a = 0] = await written(store, large(create('a', '')));
    const [b = 0] = await written(store, large({ op: 'update', key: key('a'), kind, expect: a }));
    expect(await parts()).to.equal(4);
    await store.compact(b, 10);
    expect(await parts()).to.equal(2);
    const [c = 0] = await written(store, {
      op: 'delete',
      key: key('a'),
      kind,
      expect: b,
      data: new Uint8Array(100_000),
    });
    expect((await store.changes(b, 1))[0]).to.have.nested.property('previous.data.byteLength', 600_000);
    await store.compact(c, 10);
    expect(await parts()).to.equal(0);
  });

  it('continues when other programs compact the cluster, and itself drops only key states older than five minutes [slow]', async () => {
    const { cluster } = etcd;
    const revision = async (): Promise<number> => {
      const text = await cluster.ctl(['get', 'any', '--write-out=json']);
      return (JSON.parse(text) as { header: { revision: number } }).header.revision;
    };
    const first = await revision();
    await written(store, create('a', '1'));
    await cluster.ctl(['compact', String(await revision())]);
    await written(store, create('b', '2'));
    expect(await history(store)).to.deep.equal(['before', 'a', 'b'].map((name) => key(name)));
    expect(await rejectionOf(cluster.ctl(['get', 'any', `--rev=${first}`]))).to.match(/compacted/);
    let nowMs = 0;
    const clock = { ...hurriedClock, monotonicMs: () => hurriedClock.monotonicMs() + nowMs };
    const other = await etcd.open(etcd.freshUrl(), { clock });
    await other.compact(0, 10);
    const second = await revision();
    await written(other, create('a', '1'));
    await other.compact(0, 10);
    expect(await cluster.ctl(['get', 'any', `--rev=${second - 1}`]).catch(String)).not.to.match(/compacted/);
    nowMs = 5 * 60_000;
    await other.compact(0, 10);
    expect(await rejectionOf(cluster.ctl(['get', 'any', `--rev=${second - 1}`]))).to.match(/compacted/);
  });
});

describe('etcd store, with faults of the cluster [slow]', () => {
  const etcd = EtcdTestCluster.use({ proxied: true });
  const memberOf = (at: number): EtcdMember => etcd.cluster.members[at] as EtcdMember;

  it('continues when the leader is killed, and loses no acknowledged write', async () => {
    const { cluster } = etcd;
    const store = await etcd.open();
    const writing = keepWriting(store, 'a');
    const leader = await cluster.leader();
    await cluster.kill(leader);
    const before = writing.acknowledged.length;
    await eventually(() => writing.acknowledged.length > before + 10, patient);
    cluster.start(leader);
    await cluster.ready();
    await writing.stop();
    await expectAcknowledged(store, writing.acknowledged);
  });

  it('connects to another member when its member is isolated from the others or stops', async () => {
    const { cluster } = etcd;
    const prefix = parseEtcdUrl(etcd.freshUrl(), {}).prefix;
    const first = memberOf(0);
    const store = await etcd.open(cluster.url(prefix, [first, memberOf(1), memberOf(2)]));
    const writing = keepWriting(store, 'a');
    await cluster.isolate(first);
    const other = await etcd.open(cluster.url(prefix, [memberOf(1)]));
    await eventually(async () => (await scanned(other)).length > 0, patient);
    const before = writing.acknowledged.length;
    await eventually(() => writing.acknowledged.length > before + 10, patient);
    cluster.heal();
    await cluster.ready();
    const leader = await cluster.leader();
    leader.process?.kill('SIGSTOP');
    const count = writing.acknowledged.length;
    await eventually(() => writing.acknowledged.length > count + 10, patient);
    leader.process?.kill('SIGCONT');
    await writing.stop();
    await expectAcknowledged(store, writing.acknowledged);
  });

  it('fails reads and writes while a majority of the members is down, and continues once a majority runs again', async () => {
    const { cluster } = etcd;
    const url = etcd.freshUrl();
    const store = await etcd.open(url, { clock: hurriedClock });
    await written(store, create('a', ''));
    const [first, ...others] = cluster.members;
    for (const member of others) await cluster.kill(member);
    const failures = await Promise.all([store.commit([create('b', '')]), store.currentRevision()].map(rejectionOf));
    for (const failure of failures) expect(failure).to.have.property('code').that.is.oneOf(['io', 'unknown']);
    const alone = etcd.store(cluster.url('/new', first ? [first] : []), { clock: hurriedClock });
    expect(String(await rejectionOf(alone.open()))).to.match(/a majority of the members must run and reach each other/);
    for (const member of others) cluster.start(member);
    await cluster.ready();
    await eventually(() => written(store, create('c', '')), patient);
    const found = await history(store);
    expect([found[0], found.at(-1)]).to.deep.equal([key('a'), key('c')]);
  });

  it('continues while a member is replaced, and while the network is slow', async () => {
    const { cluster } = etcd;
    const store = await etcd.open();
    const writing = keepWriting(store, 'a');
    await cluster.replace(memberOf(0));
    cluster.slowDown(() => 20 + 60 * Math.random());
    const before = writing.acknowledged.length;
    await eventually(() => writing.acknowledged.length > before + 10, patient);
    cluster.heal();
    await writing.stop();
    await expectAcknowledged(store, writing.acknowledged);
  });

  it('gives the writes of three concurrent stores one strict order', async () => {
    const url = etcd.freshUrl();
    const stores = [await etcd.open(url), await etcd.open(url), await etcd.open(url)];
    const revisions = await Promise.all(
      stores.flatMap((store, at) => {
        const group = new GroupCommit(store, { maxOperations: 8, onError: (error) => expect.fail(String(error)) });
        return Array.from({ length: 100 }, (_, n) => group.submit(create(`n${at}-${n}`, '')).then(revisionOf));
      }),
    );
    const found = await Promise.all(stores.map((store) => store.changes(0, 1000)));
    for (const changes of found) {
      expect(changes.map(({ revision }) => revision)).to.deep.equal(Array.from({ length: 300 }, (_, n) => n + 1));
    }
    expect(revisions.toSorted((a, b) => a - b)).to.deep.equal(found[0]?.map(({ revision }) => revision));
  });

  for (const [token, what] of [
    ['restored', 'with another token'],
    [undefined, 'with the same token'],
  ] as const) {
    it(`refuses writes when a snapshot was restored as a cluster ${what}, and has a new epoch when it is opened again`, async () => {
      const { cluster } = etcd;
      const url = etcd.freshUrl();
      const store = etcd.store(url);
      const { epoch } = await store.open();
      await written(store, create('a', '1'));
      const snapshot = await cluster.snapshot();
      await written(store, create('lost', '2'), create('lost-2', '3'));
      await cluster.restore(snapshot, token);
      await eventually(async () => {
        const failure = await rejectionOf(store.commit([create('b', '')]));
        return expect(failure).to.include({ code: 'diverged' });
      }, patient);
      await store.close();
      const next = etcd.store(url);
      const opened = await next.open();
      expect(opened.epoch).to.not.equal(epoch);
      expect(opened.revision).to.be.above(1_000_000);
      expect(opened.compactRevision).to.equal(opened.revision);
      expect(await rejectionOf(next.changes(3, 1))).to.have.property('name', 'CompactedError');
      expect((await scanned(next)).map((row) => [row.key, row.revision])).to.deep.equal([[key('a'), 1]]);
      const update = { op: 'update', key: key('a'), kind, expect: 1, data: bytes('2') } as const;
      expect(await written(next, update)).to.deep.equal([opened.revision + 1]);
    });
  }
});

describe('etcd store, after a restore while no store was open [slow]', () => {
  const etcd = EtcdTestCluster.use({ size: 1 });

  it('starts a new epoch after each restore of a snapshot with the same cluster token, but not after a restart', async () => {
    const { cluster } = etcd;
    const [member] = cluster.members as [EtcdMember];
    const url = etcd.freshUrl();
    const epochs: string[] = [];
    const openAndWrite = async (name: string): Promise<void> => {
      const store = etcd.store(url);
      epochs.push((await store.open()).epoch);
      for (let at = 0; at < 20; at += 1) await written(store, create(`${name}-${at}`, ''));
      await store.close();
    };
    await openAndWrite('a');
    const snapshot = await cluster.snapshot();
    await openAndWrite('b');
    await cluster.kill(member);
    cluster.start(member);
    await cluster.ready();
    await openAndWrite('c');
    await cluster.restore(snapshot);
    await openAndWrite('d');
    const later = await cluster.snapshot();
    await openAndWrite('e');
    await cluster.restore(later);
    await openAndWrite('f');
    await cluster.restore(snapshot);
    await openAndWrite('g');
    expect(epochs.map((epoch) => epochs.indexOf(epoch))).to.deep.equal([0, 0, 0, 3, 3, 5, 6]);
  });
});

describe('etcd store, with a quota that is used up [slow]', () => {
  const etcd = EtcdTestCluster.use({ size: 1, args: ['--quota-backend-bytes', String(8 * 1024 * 1024)] });

  it('refuses writes with the error code full, serves reads, and accepts writes again once the cluster is repaired', async () => {
    const { cluster } = etcd;
    const store = await etcd.open();
    let [last = 0] = await written(store, create('a', ''));
    const fill = async (): Promise<unknown> => {
      for (;;) {
        const data = new Uint8Array(60_000).fill(last);
        [last = 0] = await written(store, { op: 'update', key: key('a'), kind, expect: last, data });
        await store.compact(last, 10);
      }
    };
    const failure = await rejectionOf(fill());
    expect(failure).to.include({ code: 'full' });
    expect(String(failure)).to.include('etcdctl alarm disarm');
    expect((await scanned(store))[0]?.revision).to.equal(last);
    const revision = (
      JSON.parse(await cluster.ctl(['get', 'any', '--write-out=json'])) as { header: { revision: number } }
    ).header.revision;
    await cluster.ctl(['compact', String(revision)]);
    await cluster.ctl(['defrag']);
    await cluster.ctl(['alarm', 'disarm']);
    await written(store, create('after', ''));
    expect((await scanned(store)).map((row) => row.key)).to.deep.equal([key('a'), key('after')]);
  });
});
