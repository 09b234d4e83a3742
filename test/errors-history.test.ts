import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startApiServer } from '@homeostat/apiserver';
import { IndexSpec, simpleAttribute } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { Person, personIndexes, person, persons } from './support/models/models.ts';
import { passCompactions } from './support/servers/pass-time.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';

const gvk = { group: 'people.example.com', version: 'v1alpha1', kind: 'Person' };

describe('errors: history', () => {
  describe('410', () => {
    let server: TestServer;
    let clock: FakeClock;

    beforeEach(async () => {
      clock = new FakeClock();
      server = await TestServer.start({ clock, retention: { minAgeMs: 60_000, minChanges: 0 } });
      for (const name of ['ann', 'bob', 'cid']) await server.create(persons, person(name));
    });

    afterEach(() => server.stop());

    it('ends a watch from a compacted revision with one ERROR event in a 200 stream', async () => {
      await passCompactions(clock, 4);
      const watch = await server.watch(`${persons}?watch=true&resourceVersion=2`);
      expect(watch.status).to.equal(200);
      const events = await watch.end();
      expect(watch.summary).to.deep.equal(['ERROR']);
      expect(events[0]?.object).to.include({ kind: 'Status', status: 'Failure', reason: 'Expired', code: 410 });
      expect(events[0]?.object.message).to.match(/^too old resource version: 2 \(\d+\)$/);
    });

    it('does not end a watch from a revision that is still in the history', async () => {
      const revision = await server.revision(persons);
      await passCompactions(clock, 4);
      const watch = await server.watch(`${persons}?watch=true&resourceVersion=${revision}`);
      await server.create(persons, person('dan'));
      await watch.count(1);
      expect(watch.summary).to.deep.equal(['ADDED dan']);
    });

    it('responds with 410 to a continue token whose revision is compacted', async () => {
      const { body } = await server.get(`${persons}?limit=1`);
      const next = `${persons}?limit=1&continue=${encodeURIComponent(body.metadata.continue as string)}`;
      expect((await server.get(next)).status).to.equal(200);
      await server.create(persons, person('dan'));
      await passCompactions(clock, 4);
      expectRefusal(await server.get(next), { reason: 'Expired', code: 410 });
    });

    it('responds with 410 to a list at a compacted revision with resourceVersionMatch=Exact', async () => {
      const revision = await server.revision(persons);
      await server.create(persons, person('dan'));
      const exact = `${persons}?resourceVersion=${revision}&resourceVersionMatch=Exact`;
      expect((await server.get(exact)).body.total).to.equal(3);
      await passCompactions(clock, 4);
      expectRefusal(await server.get(exact), { reason: 'Expired', code: 410 });
    });

    it('does not end a watch from a revision that is younger than retention.minAgeMs', async () => {
      await passCompactions(clock, 1);
      const watch = await server.watch(`${persons}?watch=true&resourceVersion=${server.startRevision + 1}`);
      await watch.count(2);
      expect(watch.summary).to.deep.equal(['ADDED bob', 'ADDED cid']);
    });
  });

  it('ends a watch from a recent revision with an ERROR event when the history exceeds its maximum size', async () => {
    const server = await TestServer.start({ retention: { maxBytes: 64 * 1024 } });
    await server.create(persons, person('ann'));
    for (let i = 0; i < 10; i += 1) await server.create(persons, person(`p-${i}`, { tags: ['x'.repeat(16 * 1024)] }));
    const watch = await server.watch(`${persons}?watch=true&resourceVersion=2`);
    await watch.end();
    expect(watch.summary).to.deep.equal(['ERROR']);
    await server.stop();
  });

  describe('504', () => {
    let server: TestServer;
    let clock: FakeClock;

    beforeEach(async () => {
      clock = new FakeClock();
      server = await TestServer.start({ clock });
      await server.create(persons, person('ann'));
    });

    afterEach(() => server.stop());

    for (const path of [
      persons,
      `${persons}/ann`,
      `${persons}?limit=1`,
      `${persons}?resourceVersionMatch=NotOlderThan`,
      `${persons}?resourceVersionMatch=Exact`,
    ]) {
      it(`responds with 504 after 3 s to ${path.slice(persons.length) || 'a list'} at a future revision`, async () => {
        const timers = clock.pendingTimers;
        let answer: Answer | undefined;
        const asked = server
          .get(`${path}${path.includes('?') ? '&' : '?'}resourceVersion=1000`)
          .then((got) => (answer = got));
        await eventually(() => clock.pendingTimers > timers, { describe: 'the server to wait' });
        await clock.advance(2_900);
        expect(answer).to.equal(undefined);
        await clock.advance(200);
        await asked;
        expectRefusal(answer as unknown as Answer, {
          reason: 'Timeout',
          code: 504,
          message: `Timeout: Too large resource version: 1000, current: ${server.startRevision + 1}`,
          causes: ['ResourceVersionTooLarge undefined'],
          details: { retryAfterSeconds: 1 },
        });
        expect((answer as unknown as Answer).headers['retry-after']).to.equal('1');
      });
    }

    it('responds with 200 when a write reaches the requested future revision in time', async () => {
      const timers = clock.pendingTimers;
      const asked = server.get(`${persons}?resourceVersion=${server.startRevision + 2}`);
      await eventually(() => clock.pendingTimers > timers, { describe: 'the server to wait' });
      await server.create(persons, person('bob'));
      const { status, body } = await asked;
      expect(status).to.equal(200);
      expect(body.total).to.equal(2);
    });

    it('lets a watch from a future revision wait for that revision', async () => {
      const watch = await server.watch(`${persons}?watch=true&resourceVersion=${server.startRevision + 3}`);
      await clock.advance(10_000);
      for (const name of ['bob', 'cid', 'dan', 'eve']) await server.create(persons, person(name));
      await watch.count(2);
      expect(watch.summary).to.deep.equal(['ADDED dan', 'ADDED eve']);
      expect(watch.ended).to.equal(false);
    });
  });

  it('refuses a watch beyond maxWatches with 429 and Retry-After [spec 8-rate]', async () => {
    const server = await TestServer.start({ maxWatches: 2 });
    const first = await server.watch(`${persons}?watch=true`);
    await server.watch(`${persons}?watch=true`);
    const refused = await server.get(`${persons}?watch=true`);
    expectRefusal(refused, { reason: 'TooManyRequests', details: { retryAfterSeconds: 1 } });
    expect(refused.headers['retry-after']).to.equal('1');
    expect((await server.get(persons)).status).to.equal(200);
    first.close();
    const again = await eventually(async () => {
      const watch = await server.watch(`${persons}?watch=true`);
      return watch.status === 200 && watch;
    });
    expect(again.status).to.equal(200);
    await server.stop();
  });

  describe('503', () => {
    let folder: string;

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'homeostat-'));
    });

    after(() => rm(folder, { recursive: true }));

    it('rejects whenReady for a kind whose unique index has duplicates, and keeps the server running [slow]', async () => {
      const database = `sqlite:${join(folder, 'broken.db')}`;
      const first = await TestServer.start({ database });
      for (const name of ['ann', 'bob']) await first.create(persons, person(name, { nick: 'same' }));
      await first.stop();

      const api = await startApiServer({ database, port: 0 });
      const nick = simpleAttribute(Person, ({ spec }) => spec.nick);
      api.schemeManager.register(Person, (specs) => {
        specs.add(new IndexSpec({ name: 'spec.nick', unique: true, indexFunc: nick }));
      });
      const failure = await api.whenReady(gvk).then(
        () => undefined,
        (error: unknown) => error as Error,
      );
      expect(failure?.message).to.contain('spec.nick').and.contain('"ann"').and.contain('"bob"').and.contain('"same"');
      expect((await fetch(`${api.url}/livez`)).status).to.equal(200);
      const list = await fetch(`${api.url}${persons}`);
      const create = await fetch(`${api.url}${persons}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(person('cid', { nick: 'other' })),
      });
      for (const answer of [list, create]) {
        expect([answer.status, answer.headers.get('retry-after')]).to.deep.equal([503, '1']);
        expect(await answer.json()).to.include({ kind: 'Status', status: 'Failure', reason: 'ServiceUnavailable' });
      }
      api.schemeManager.unregister(Person, 'service');
      api.schemeManager.register(Person, personIndexes);
      await api.whenReady(gvk);
      expect((await fetch(`${api.url}${persons}/ann`)).status).to.equal(200);
      await api.stop();
    });

    it('responds with 503 to requests on open connections while the server stops', async () => {
      const server = await TestServer.start();
      const answers: Promise<string>[] = [];
      const sockets = [persons, '/readyz'].map((path) => {
        const socket = connect({ host: '127.0.0.1', port: server.port });
        socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n`);
        answers.push(textOf(socket));
        return socket;
      });
      // When the server has responded to two requests that were sent later, it has read the first lines of the two
      // requests above. So both are open when the server stops.
      await server.get('/livez');
      await server.get('/livez');
      const stopped = server.stop();
      for (const socket of sockets) socket.write('Connection: close\r\n\r\n');
      const [list = '', ready = ''] = await Promise.all(answers);
      expect(list).to.match(/^HTTP\/1\.1 503 /);
      expect(list).to.match(/\r\nretry-after: 1\r\n/i);
      expect(JSON.parse(list.split('\r\n\r\n')[1] ?? '')).to.include({ kind: 'Status', reason: 'ServiceUnavailable' });
      expect(ready).to.match(/^HTTP\/1\.1 503 /);
      await stopped;
    });
  });
});
