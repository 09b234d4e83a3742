import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { newMachine, machines, person, persons, Person } from './support/models/models.ts';
import { passCompactions } from './support/servers/pass-time.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { WatchReader } from './support/network/watch-reader.ts';

const MiB = 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/**
 * Returns the bytes of reachable buffers. `arrayBuffers` of process.memoryUsage is wrong for buffers that were
 * transferred to a worker.
 */
function bytesInUse(): number {
  collectGarbage();
  return process.memoryUsage().external;
}

describe('a watch during its lifetime', () => {
  let server: TestServer;
  let clock: FakeClock;

  beforeEach(async () => {
    clock = new FakeClock();
    server = await TestServer.start({ clock, bookmarkIntervalMs: 50_000 });
    await server.create(persons, person('ann'));
  });

  afterEach(() => server.stop());

  const watch = (query: string): Promise<WatchReader> => server.watch(`${persons}?watch=true&${query}`);

  it('sends a bookmark with the newest revision of the database in each interval if bookmarks are allowed', async () => {
    const reader = await watch(`resourceVersion=${server.startRevision + 1}&allowWatchBookmarks=true`);
    await server.create(machines, newMachine('m'));
    await clock.advance(49_000);
    expect(reader.events).to.deep.equal([]);
    await clock.advance(2_000);
    const [bookmark] = await reader.count(1);
    expect(bookmark).to.deep.equal({
      type: 'BOOKMARK',
      object: {
        apiVersion: 'people.example.com/v1alpha1',
        kind: 'Person',
        metadata: { resourceVersion: String(server.startRevision + 2) },
      },
    });
    await clock.advance(50_000);
    await reader.count(2);
    expect(reader.summary).to.deep.equal(['BOOKMARK', 'BOOKMARK']);
  });

  it('never sends a bookmark that was not requested', async () => {
    const readers = await Promise.all(
      ['', `resourceVersion=${server.startRevision + 1}`, 'allowWatchBookmarks=false'].map((query) => watch(query)),
    );
    await clock.advance(10 * 60_000);
    await server.create(persons, person('bob'));
    const stopped = server.api.stop();
    for (const reader of readers) {
      await reader.end();
      expect(reader.of('BOOKMARK')).to.deep.equal([]);
      expect(reader.summary.at(-1)).to.equal('ADDED bob');
    }
    await stopped;
  });

  it('sends a blank line every 20 s, or a comment in server-sent events', async () => {
    const reader = await watch(`resourceVersion=${server.startRevision + 1}`);
    await clock.advance(19_000);
    expect(reader.lines).to.deep.equal([]);
    for (const count of [1, 2, 3]) {
      await clock.advance(20_000);
      await eventually(() => reader.lines.length === count);
    }
    expect(reader.lines).to.deep.equal(['', '', '']);
    const events = await server.watch(`${persons}?watch=true&resourceVersion=${server.startRevision + 1}`, {
      accept: 'text/event-stream',
    });
    await clock.advance(20_000);
    await eventually(() => events.lines.length >= 2);
    expect(events.lines[0]).to.match(/^:/);
    expect(events.events).to.deep.equal([]);
  });

  it('ends after timeoutSeconds, with a bookmark if bookmarks are allowed', async () => {
    const plain = await watch(`resourceVersion=${server.startRevision + 1}&timeoutSeconds=40`);
    const marked = await watch(
      `resourceVersion=${server.startRevision + 1}&timeoutSeconds=40&allowWatchBookmarks=true`,
    );
    await clock.advance(39_000);
    await server.create(persons, person('bob'));
    await marked.count(1);
    expect([plain.ended, marked.ended]).to.deep.equal([false, false]);
    await clock.advance(1_500);
    await plain.end();
    await marked.end();
    expect(plain.summary).to.deep.equal(['ADDED bob']);
    expect(marked.summary).to.deep.equal(['ADDED bob', 'BOOKMARK']);
    expect(marked.events[1]?.object.metadata.resourceVersion).to.equal(String(server.startRevision + 2));
  });

  it('ends after 30 to 60 min when the request has no timeoutSeconds [slow]', async () => {
    const readers = await Promise.all(
      Array.from({ length: 8 }, () => watch(`resourceVersion=${server.startRevision + 1}`)),
    );
    await clock.advance(29.5 * 60_000);
    expect(readers.some(({ ended }) => ended)).to.equal(false);
    await clock.advance(31 * 60_000);
    await Promise.all(readers.map((reader) => reader.end()));
  });

  it('ends with 410 when its kind is unregistered; watches of other kinds continue', async () => {
    const other = await server.watch(`${machines}?watch=true`);
    const reader = await watch('allowWatchBookmarks=true');
    await reader.count(1);
    server.api.schemeManager.unregister(Person, 'service');
    await reader.end();
    expect(reader.summary).to.deep.equal(['ADDED ann', 'ERROR']);
    expect(reader.events[1]?.object).to.include({ kind: 'Status', code: 410, reason: 'Expired' });
    expect((await server.get(persons)).status).to.equal(404);
    await server.create(machines, newMachine('m'));
    await other.count(1);
    expect(other.summary).to.deep.equal(['ADDED m']);
  });

  it('ends server-sent events with an empty id, so that a browser starts again, when its kind is unregistered', async () => {
    const accept = 'text/event-stream';
    const reader = await server.watch(`${persons}?watch=true`, { accept });
    await reader.count(1);
    server.api.schemeManager.unregister(Person, 'service');
    await reader.end();
    const [id, data] = reader.lines.slice(-3);
    expect(id).to.equal('id: ');
    expect(data).to.contain('"type":"ERROR"');
  });

  it('begins with an error or with the first change after its resourceVersion, if its kind was unregistered and registered again after this revision', async () => {
    const before = await server.revision(persons);
    await server.create(persons, person('bob'));
    server.api.schemeManager.unregister(Person, 'service');
    server.api.schemeManager.register(Person);
    await server.api.whenReady({ group: 'people.example.com', version: 'v1alpha1', kind: 'Person' });
    expect((await server.get(persons)).body.total).to.equal(2);
    const reader = await watch(`resourceVersion=${before}`);
    await reader.until((events) => events.length > 0);
    // Either the watch loses no event, or it reports the loss.
    expect(reader.summary[0]).to.be.oneOf(['ADDED bob', 'ERROR']);
  });

  it('ends when the server stops, after all events, with a final bookmark if bookmarks are allowed', async () => {
    const marked = await watch(`resourceVersion=${server.startRevision + 1}&allowWatchBookmarks=true`);
    const plain = await watch(`resourceVersion=${server.startRevision + 1}`);
    await server.create(persons, person('bob'));
    const stopped = server.api.stop();
    await Promise.all([marked.end(), plain.end()]);
    expect(marked.summary).to.deep.equal(['ADDED bob', 'BOOKMARK']);
    expect(marked.events[1]?.object.metadata.resourceVersion).to.equal(String(server.startRevision + 2));
    expect(plain.summary).to.deep.equal(['ADDED bob']);
    await stopped;
  });

  it('does not start when the client closes the connection while the request waits for its revision', async () => {
    const valueOf = async (series: string): Promise<number> => {
      const { text } = await server.get('/metrics');
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${series} `))
          ?.slice(series.length),
      );
    };
    const underWay = 'apiserver_current_inflight_requests{request_kind="readOnly"}';
    const revision = Number(await server.revision(persons)) + 1;
    const query = `sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=${revision}`;
    const socket = server.connect();
    socket.write(`GET ${persons}?watch=true&${query} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await eventually(async () => (await valueOf(underWay)) === 2);
    socket.destroy();
    // When two later requests have responses, the server knows that the connection has ended.
    await server.get('/livez');
    await server.get('/livez');
    await server.create(persons, person('bob'));
    await eventually(async () => (await valueOf(underWay)) === 1);
    await eventually(
      async () => (await valueOf('apiserver_registered_watchers{resource="persons.people.example.com"}')) === 0,
    );
  });

  it('leaves no timer behind when the client or the server ends it', async () => {
    const idle = clock.pendingTimers;
    const hungUp = await watch('allowWatchBookmarks=true');
    const timedOut = await watch('timeoutSeconds=5');
    expect(clock.pendingTimers).to.be.greaterThan(idle);
    hungUp.close();
    await clock.advance(6_000);
    await timedOut.end();
    timedOut.close();
    await eventually(() => clock.pendingTimers === idle, {
      describe: () => `${clock.pendingTimers} timers to be ${idle}`,
    });
  });
});

describe('watch: a watcher that does not read', () => {
  it('does not affect other watchers or memory, and is cut off or gets 410 [slow]', async () => {
    const clock = new FakeClock();
    const server = await TestServer.start({ clock, retention: { minAgeMs: 1_000, minChanges: 0, maxBytes: 4 * MiB } });
    await server.create(persons, person('ann'));
    const deaf = connect({ host: '127.0.0.1', port: server.port });
    let isGone = false;
    deaf.on('close', () => (isGone = true));
    deaf.on('error', () => (isGone = true));
    deaf.pause();
    deaf.write(`GET ${persons}?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const reader = await server.watch(`${persons}?watch=true&resourceVersion=${server.startRevision + 1}`);

    const writes = 150;
    const tags = ['x'.repeat(256 * 1024)];
    const memoryBefore = bytesInUse();
    for (let age = 1; age <= writes; age += 1) {
      await server.api.client.patch(Person, 'ann', { type: 'merge', patch: { spec: { age: age % 100, tags } } });
      await reader.count(age);
    }
    expect(reader.of('ERROR')).to.deep.equal([]);
    expect(reader.events.map(({ object }) => object.spec.age)).to.deep.equal(
      Array.from({ length: writes }, (_, i) => (i + 1) % 100),
    );
    // Memory stays below this limit, although 38 MiB were written. Several garbage collections may be needed until the
    // last buffer is freed.
    await eventually(() => bytesInUse() - memoryBefore < 16 * MiB, { describe: 'memory to be given back' });

    // The watcher's revision is compacted, so the next heartbeat that cannot be written ends the watch.
    await clock.advance(21_000);
    deaf.resume();
    await eventually(() => isGone, { describe: 'the deaf watcher to be cut off' });
    reader.close();
    await server.stop();
  });

  it('receives all events when it reads again in time [slow]', async () => {
    const server = await TestServer.start();
    await server.create(persons, person('ann'));
    const reader = await server.watch(`${persons}?watch=true&resourceVersion=${server.startRevision + 1}`);
    reader.pause();
    const tags = ['x'.repeat(256 * 1024)];
    const ages = Array.from({ length: 60 }, (_, i) => i + 1);
    for (const age of ages) await server.patch(`${persons}/ann`, { spec: { age, tags } });
    reader.resume();
    await reader.count(60);
    expect(reader.events.map(({ object }) => object.spec.age)).to.deep.equal(ages);
    await server.stop();
  });
});

describe('watch: a timeout while the present objects are sent', () => {
  it('ends the watch without a bookmark, because a bookmark would skip objects that were not sent [slow]', async () => {
    const clock = new FakeClock();
    const server = await TestServer.start({ clock });
    const tags = ['x'.repeat(MiB)];
    const total = 40;
    for (let i = 1; i <= total; i += 1) await server.create(persons, person(`person-${i}`, { tags }));
    const reader = await server.watch(`${persons}?watch=true&timeoutSeconds=5&allowWatchBookmarks=true`);
    reader.pause();
    await clock.advance(6_000);
    reader.resume();
    await reader.end();
    expect(reader.of('ADDED').length).to.be.lessThan(total);
    expect(reader.of('BOOKMARK')).to.deep.equal([]);
    await server.stop();
  });
});

describe('watch: across a restart', () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-'));
  });

  after(() => rm(folder, { recursive: true }));

  it('resumes after its last revision, and gets 410 for a revision that was compacted before the restart', async () => {
    const database = `sqlite:${join(folder, 'resumed.db')}`;
    const clock = new FakeClock();
    const first = await TestServer.start({ database, clock, retention: { minAgeMs: 1_000, minChanges: 0 } });
    for (const name of ['ann', 'bob']) await first.create(persons, person(name));
    await passCompactions(clock, 2);
    const revision = await first.revision(persons);
    await first.create(persons, person('cid', {}, { labels: { team: 'red' } }));
    await first.patch(`${persons}/cid`, { metadata: { labels: null } });
    await first.delete(`${persons}/ann`);
    await first.stop();

    const second = await TestServer.start({ database });
    const all = await second.watch(`${persons}?watch=true&resourceVersion=${revision}`);
    const red = await second.watch(`${persons}?watch=true&labelSelector=team&resourceVersion=${revision}`);
    const old = await second.watch(`${persons}?watch=true&resourceVersion=2`);
    await second.create(persons, person('dan'));
    await Promise.all([all.count(4), red.count(2), old.end()]);
    expect(all.summary).to.deep.equal(['ADDED cid', 'MODIFIED cid', 'DELETED ann', 'ADDED dan']);
    expect(red.summary).to.deep.equal(['ADDED cid', 'DELETED cid']);
    expect(old.summary).to.deep.equal(['ERROR']);
    await second.stop();
  });
});
