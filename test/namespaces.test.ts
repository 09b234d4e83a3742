import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { letter, letters, newLetter, persons } from './support/models/models.ts';
import { hurriedClock } from './support/network/hurried-clock.ts';
import { createNamespaces, namespaceGraceMs } from './support/models/namespaces.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';
import { describeTwoServers } from './support/servers/two-servers.ts';

const namespaces = '/api/v1/namespaces';
const lettersIn = (name: string): string => letters.replace('letters', `namespaces/${name}/letters`);

function namespace(name: string, more: object = {}): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name }, ...more };
}

/** Waits until a namespace that is being deleted is gone. Call it after the grace period of the deletion. */
async function gone(server: TestServer, name: string): Promise<void> {
  await eventually(async () => (await server.get(`${namespaces}/${name}`)).status === 404, {
    describe: () => `${name} to go`,
  });
}

describe('namespaces [compat namespaces]', () => {
  const clock = new FakeClock();
  let server: TestServer;

  before(async () => {
    server = await TestServer.start({ clock });
  });

  after(() => server.stop());

  async function deleteNamespace(name: string): Promise<Answer> {
    const answer = await server.delete(`${namespaces}/${name}`);
    await clock.advance(namespaceGraceMs);
    return answer;
  }

  it("have a phase, a finalizer and a label from the start, independent of the client's values", async () => {
    const sent = namespace('made', { spec: { finalizers: ['example.com/own'] }, status: { phase: 'Terminating' } });
    const created = await server.create(namespaces, sent);
    const labels = { 'kubernetes.io/metadata.name': 'made' };
    expect(created.metadata.labels).to.deep.equal(labels);
    expect(created.spec).to.deep.equal({ finalizers: ['example.com/own', 'kubernetes'] });
    expect(created.status).to.deep.equal({ phase: 'Active' });
    const empty = await server.create(namespaces, namespace('empty', { spec: null, status: null }));
    expect(empty.spec).to.deep.equal({ finalizers: ['kubernetes'] });
    const put = await server.put(`${namespaces}/made`, namespace('made', { spec: {} }));
    expect(put.body).to.deep.equal(created);
    const status = await server.put(
      `${namespaces}/made/status`,
      namespace('made', { status: { phase: 'Terminating' } }),
    );
    expect(status.body.status).to.deep.equal({ phase: 'Active' });
    expect((await server.get(`${namespaces}?fieldSelector=status.phase=Active`)).body.total).to.be.above(1);
  });

  it('return 404 for a GET or POST of an object, and an empty list, when they do not exist', async () => {
    for (const name of ['nowhere', 'Not_Valid']) {
      const object = await server.get(`${lettersIn(name)}/hello`);
      expectRefusal(object, { reason: 'NotFound', message: 'letters.people.example.com "hello" not found' });
      expect((await server.get(lettersIn(name))).body.items).to.deep.equal([]);
    }
    const created = await server.post(lettersIn('nowhere'), newLetter('hello'));
    expectRefusal(created, { reason: 'NotFound', message: 'namespaces "nowhere" not found' });
  });

  it('have names of at most 63 characters, and are validated by a schema', async () => {
    const long = await server.post(namespaces, namespace('a'.repeat(64)));
    expectRefusal(long, { reason: 'Invalid', causes: ['FieldValueInvalid metadata.name'] });
    for (const spec of ['x', ['x'], { finalizers: 'x' }, { finalizers: '' }, { finalizers: [1] }]) {
      expect((await server.post(namespaces, namespace('odd', { spec }))).status, JSON.stringify(spec)).to.equal(422);
    }
  });

  it('must exist before objects are created in them: otherwise a 404 names the namespace', async () => {
    const refusal = {
      reason: 'NotFound',
      message: 'namespaces "absent" not found',
      details: { name: 'absent', kind: 'namespaces' },
    } as const;
    expectRefusal(await server.post(lettersIn('absent'), newLetter('a')), refusal);
    expectRefusal(await server.post(`${lettersIn('absent')}?dryRun=All`, newLetter('a')), refusal);
    const failed: unknown = await server.api.client
      .create(letter, { ...newLetter('a'), metadata: { name: 'a', namespace: 'absent' } })
      .catch((error: unknown) => error);
    expect(failed).to.include({ reason: 'NotFound' });
  });

  it('cannot be deleted as a collection, and the namespace default cannot be deleted', async () => {
    expectRefusal(await server.delete(`${namespaces}/default`), {
      reason: 'Forbidden',
      message: 'this namespace may not be deleted',
    });
    expectRefusal(await server.delete(namespaces), { reason: 'MethodNotAllowed' });
  });

  it('are removed after a deletion once all their objects, of every kind, are deleted', async () => {
    await createNamespaces(server.api.client, ['full', 'other']);
    const full = Array.from({ length: 250 }, (_, at) => newLetter(`l${at}`));
    await Promise.all(full.map((each) => server.create(lettersIn('full'), each)));
    await server.create('/api/v1/namespaces/full/events', {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'e' },
      involvedObject: {},
    });
    await server.create(lettersIn('other'), newLetter('kept'));
    const answer = await deleteNamespace('full');
    expect(answer.status).to.equal(200);
    expect(answer.body.status).to.deep.equal({ phase: 'Terminating' });
    expect(answer.body.metadata.deletionTimestamp).to.be.a('string');
    await gone(server, 'full');
    expect((await server.get(lettersIn('full'))).body.total).to.equal(0);
    expect((await server.get('/api/v1/namespaces/full/events')).body.total).to.equal(0);
    expect((await server.get(lettersIn('other'))).body.total).to.equal(1);
    await createNamespaces(server.api.client, ['full']);
    await server.create(lettersIn('full'), newLetter('again'));
  });

  it('in deletion, keep their objects for five seconds, so that a client can delete these objects by name', async () => {
    await createNamespaces(server.api.client, ['brief']);
    for (const name of ['first', 'second']) await server.create(lettersIn('brief'), newLetter(name));
    await server.delete(`${namespaces}/brief`);
    await clock.advance(namespaceGraceMs - 1);
    expect((await server.delete(`${lettersIn('brief')}/first`)).status).to.equal(200);
    expect((await server.get(`${lettersIn('brief')}/second`)).body.metadata).not.to.have.property('deletionTimestamp');
    await clock.advance(1);
    await gone(server, 'brief');
    expect((await server.get(`${lettersIn('brief')}/second`)).status).to.equal(404);
  });

  it('wait for the finalizers of their objects, and refuse new objects meanwhile', async () => {
    await createNamespaces(server.api.client, ['held']);
    const held = { ...newLetter('slow'), metadata: { name: 'slow', finalizers: ['example.com/wait'] } };
    await server.create(lettersIn('held'), held);
    await deleteNamespace('held');
    const slow = `${lettersIn('held')}/slow`;
    await eventually(async () => (await server.get(slow)).body.metadata.deletionTimestamp !== undefined);
    const refused = await server.post(lettersIn('held'), newLetter('new'));
    expectRefusal(refused, {
      reason: 'Forbidden',
      message: 'letters.people.example.com "new" is forbidden: unable to create new content in namespace held',
      causes: ['NamespaceTerminating metadata.namespace'],
    });
    expect((await server.delete(`${namespaces}/held`)).body.status.phase).to.equal('Terminating');
    await server.patch(slow, { metadata: { finalizers: null } });
    await gone(server, 'held');
  });

  it('in deletion, stay while they contain objects of a kind that is not served; are removed once the kind is served', async () => {
    await createNamespaces(server.api.client, ['hidden']);
    await server.create(lettersIn('hidden'), newLetter('unseen'));
    server.api.schemeManager.unregister(letter, 'service');
    await deleteNamespace('hidden');
    await eventually(() => server.api.isIdle());
    expect((await server.get(`${namespaces}/hidden`)).status).to.equal(200);
    server.api.schemeManager.register(letter);
    await server.api.whenReady(letter);
    await gone(server, 'hidden');
    expect((await server.get(lettersIn('hidden'))).body.total).to.equal(0);
  });

  it('are deleted only after a PUT of the subresource finalize has removed the finalizers in their spec', async () => {
    await server.create(namespaces, namespace('own', { spec: { finalizers: ['example.com/own'] } }));
    const path = `${namespaces}/own`;
    await deleteNamespace('own');
    await eventually(async () => (await server.get(path)).body.spec.finalizers.length === 1);
    const stored = (await server.get(path)).body;
    expect(stored.spec.finalizers).to.deep.equal(['example.com/own']);
    expectRefusal(await server.get(`${path}/finalize`), { reason: 'MethodNotAllowed' });
    expectRefusal(await server.put(`${persons}/x/finalize`, {}), { reason: 'NotFound' });
    expectRefusal(await server.put(`${path}/finalize`, { ...stored, spec: { finalizers: 7 } }), { reason: 'Invalid' });
    const finalized = await server.put(`${path}/finalize`, { ...stored, spec: {} });
    expect(finalized.status).to.equal(200);
    await gone(server, 'own');
  });
});

describe('namespaces across a restart', () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-namespaces-'));
  });

  after(() => rm(folder, { recursive: true, force: true }));

  it('are deleted with their objects after a restart that interrupts the deletion [slow]', async () => {
    const database = `sqlite:${folder}/restart.db`;
    const clock = new FakeClock();
    const first = await TestServer.start({ database, clock });
    await createNamespaces(first.api.client, ['half']);
    await first.create(lettersIn('half'), {
      ...newLetter('a'),
      metadata: { name: 'a', finalizers: ['example.com/x'] },
    });
    await first.create(lettersIn('half'), newLetter('b'));
    await first.delete(`${namespaces}/half`);
    await first.stop();

    const second = await TestServer.start({ database, clock });
    expect((await second.get(`${namespaces}/half`)).body.status.phase).to.equal('Terminating');
    await clock.advance(namespaceGraceMs);
    await eventually(async () => (await second.get(lettersIn('half'))).body.total === 1);
    await second.patch(`${lettersIn('half')}/a`, { metadata: { finalizers: [] } });
    await gone(second, 'half');
    await second.stop();
  });
});

// The clock advances by itself, because servers on etcd use the clock to wait for each other's writes.
const clockOfTwo = hurriedClock(10);

describeTwoServers(
  'namespaces of two servers on one database',
  (servers) => {
    it('there is only one namespace default, even if both servers create it at the same time', async () => {
      const [a, b] = await Promise.all(servers.map(async (server) => server.get(`${namespaces}/default`)));
      expect(a?.body.metadata.uid).to.be.a('string').and.equal(b?.body.metadata.uid);
    });

    it('a deleted namespace is reported once to a watcher, although both servers delete the objects in it [slow]', async () => {
      const [first, second] = servers as [TestServer, TestServer];
      await createNamespaces(first.api.client, ['shared']);
      const names = Array.from({ length: 60 }, (_, at) => `l${at}`);
      await Promise.all(names.map(async (name, at) => servers[at % 2]?.create(lettersIn('shared'), newLetter(name))));
      const revision = await first.revision(namespaces);
      const watch = await second.watch(`${namespaces}?watch=true&resourceVersion=${revision}`);
      await second.delete(`${namespaces}/shared`);
      for (const server of servers) await gone(server, 'shared');
      for (const server of servers) expect((await server.get(lettersIn('shared'))).body.total).to.equal(0);
      await eventually(() => watch.summary.includes('DELETED shared'));
      expect(watch.summary.filter((event) => event.startsWith('DELETED'))).to.deep.equal(['DELETED shared']);
      const late = await first.post(lettersIn('shared'), newLetter('late'));
      expect(late.status).to.equal(404);
    });
  },
  { clock: clockOfTwo },
);
