import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import {
  apiVersion,
  letters,
  machine,
  machines,
  newLetter,
  newMachine,
  person,
  persons,
} from './support/models/models.ts';
import { createNamespaces } from './support/models/namespaces.ts';
import { expectRefusal, leavesNoTrace } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { WatchReader } from './support/network/watch-reader.ts';

const ann = `${persons}/ann`;
const lettersHere = letters.replace('letters', 'namespaces/here/letters');
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('objects: metadata', () => {
  let server: TestServer;
  let clock: FakeClock;

  before(async () => {
    clock = new FakeClock();
    server = await TestServer.start({ clock });
    await createNamespaces(server.api.client, ['here', 'there']);
  });

  beforeEach(async () => {
    await server.delete(persons);
    await server.create(persons, person('ann'));
  });

  after(() => server.stop());

  /** Starts a watch of the kind at the present revision. */
  async function follow(): Promise<WatchReader> {
    return server.watch(`${persons}?watch=true&resourceVersion=${await server.revision(persons)}`);
  }

  describe('at creation', () => {
    it('ignores metadata in the body that only the server may set, without an error or a warning [spec 2.3-creation-timestamp, 2.3-version-servers]', async () => {
      const sent = {
        uid: 'mine',
        version: 17,
        generation: 99,
        creationTimestamp: '2001-01-01T00:00:00Z',
        deletionTimestamp: '2001-01-01T00:00:00Z',
        deletionGracePeriodSeconds: 5,
        selfLink: '/old',
      };
      const answer = await server.post(persons, person('bob', {}, sent));
      expect(answer.status).to.equal(201);
      expect(answer.headers).to.not.have.property('warning');
      const { metadata } = answer.body;
      expect(metadata).to.include({
        name: 'bob',
        version: 1,
        generation: 1,
        creationTimestamp: '2030-01-01T00:00:00Z',
      });
      expect(metadata.uid).to.match(uuid);
      expect(metadata.resourceVersion).to.match(/^[1-9]\d*$/);
      expect(Object.keys(metadata)).to.have.members([
        'name',
        'uid',
        'version',
        'resourceVersion',
        'generation',
        'creationTimestamp',
        'managedFields',
      ]);
    });

    it('returns the Location of the object, and the same body as GET', async () => {
      const created = await server.post(persons, person('bob'));
      expect(created.headers.location).to.equal(`${persons}/bob`);
      expect((await server.get(`${persons}/bob`)).body).to.deep.equal(created.body);
      const inNamespace = await server.post(`${lettersHere}/`, newLetter('x'));
      expect(inNamespace.headers.location).to.equal(`${lettersHere}/x`);
      expect(inNamespace.body.metadata.namespace).to.equal('here');
    });

    it('treats null and empty texts in metadata, which typed clients send, as absent', async () => {
      const sent = { creationTimestamp: null, labels: null, finalizers: null, uid: '', resourceVersion: '' };
      const { status, body } = await server.post(persons, person('bob', {}, sent));
      expect(status, JSON.stringify(body)).to.equal(201);
      expect(body.metadata).to.not.have.any.keys('labels', 'finalizers');
    });

    it('makes a name from at most 58 characters of generateName and 5 random characters', async () => {
      for (const base of ['gen-', 'x'.repeat(70)]) {
        const { body } = await server.post(persons, { ...person(''), metadata: { generateName: base } });
        expect(body.metadata.name.slice(0, -5)).to.equal(base.slice(0, 58));
        expect(body.metadata.name.slice(-5)).to.match(/^[bcdfghjklmnpqrstvwxz2456789]{5}$/);
        expect(body.metadata.generateName).to.equal(base);
      }
    });

    it('uses the name when a client sends both name and generateName', async () => {
      const { body } = await server.post(persons, person('bob', {}, { generateName: 'gen-' }));
      expect(body.metadata.name).to.equal('bob');
    });

    it('keeps the order of finalizers, and removes duplicates [spec 2.3-finalizers-set]', async () => {
      const finalizers = ['z.example.com/b', 'a.example.com/a', 'z.example.com/b'];
      const { body } = await server.post(persons, person('bob', {}, { finalizers }));
      expect(body.metadata.finalizers).to.deep.equal(['z.example.com/b', 'a.example.com/a']);
      await server.patch(`${persons}/bob`, { metadata: { finalizers: null } });
    });
  });

  it('generates another name when a generated name is taken, and gives up after eight names', async () => {
    let draws = 0;
    const random = (): number => {
      draws += 1;
      // The first 7 random names for the second object are equal to the name of the first object.
      return draws <= 8 * 5 ? 0 : 0.5;
    };
    const other = await TestServer.start({ random });
    const generated = { ...person(''), metadata: { generateName: 'gen-' } };
    expect((await other.create(persons, generated)).metadata.name).to.equal('gen-bbbbb');
    expect((await other.create(persons, generated)).metadata.name).to.not.equal('gen-bbbbb');
    expect(draws).to.equal(9 * 5);
    await other.stop();
    const stuck = await TestServer.start({ random: () => 0 });
    await stuck.create(persons, generated);
    expectRefusal(await stuck.post(persons, generated), { reason: 'AlreadyExists' });
    await stuck.stop();
  });

  describe('in an update', () => {
    it('increases version and revision with every write that changes something [spec 2.3-version-servers, 2.3-version-type]', async () => {
      const first = (await server.get(ann)).body.metadata;
      const second = (await server.put(ann, person('ann', { age: 1 }))).body.metadata;
      const third = (await server.patch(ann, { metadata: { labels: { a: 'b' } } })).body.metadata;
      const fourth = (await server.patch(`${ann}/status`, { status: { greeting: 'hi' } })).body.metadata;
      expect([first, second, third, fourth].map(({ version }) => version)).to.deep.equal([1, 2, 3, 4]);
      const revisions = [first, second, third, fourth].map(({ resourceVersion }) => Number(resourceVersion));
      expect(revisions).to.deep.equal([...new Set(revisions)].sort((a, b) => a - b));
      expect(fourth.uid).to.equal(first.uid);
    });

    it('does not need version, resourceVersion and uid, but accepts their stored values [spec 2.3-version-filled-in]', async () => {
      const { version, resourceVersion, uid } = (await server.get(ann)).body.metadata;
      const conditional = await server.put(ann, person('ann', { age: 1 }, { version, resourceVersion, uid }));
      expect([conditional.status, conditional.body.metadata.version]).to.deep.equal([200, 2]);
      expect((await server.put(ann, person('ann', { age: 2 }))).body.metadata.version).to.equal(3);
      expect((await server.put(ann, person('ann', { age: 3 }, { version: 3 }))).body.metadata.version).to.equal(4);
    });

    it('keeps the stored timestamps and generation, whatever values a client sends [spec 2.3-creation-timestamp-fixed]', async () => {
      const stored = (await server.get(ann)).body.metadata;
      const sent = {
        creationTimestamp: '2001-01-01T00:00:00Z',
        deletionTimestamp: '2001-01-01T00:00:00Z',
        generation: 50,
      };
      const put = await server.put(ann, person('ann', {}, sent));
      expect(put.status).to.equal(200);
      expect(put.body.metadata).to.deep.equal(stored);
      const patch = await server.patch(ann, { metadata: { ...sent, creationTimestamp: null } });
      expect(patch.body.metadata).to.deep.equal(stored);
      expect(put.headers).to.not.have.property('warning');
    });

    it('refuses the uid of a deleted object for a new object of the same name, which has its own uid and starts at version 1', async () => {
      const before = (await server.put(ann, person('ann', { age: 1 }))).body.metadata;
      await server.delete(ann);
      const after = (await server.create(persons, person('ann'))).metadata;
      expect(after.version).to.equal(1);
      expect(after.uid).to.not.equal(before.uid);
      expect(Number(after.resourceVersion)).to.be.greaterThan(Number(before.resourceVersion));
      const { uid } = before;
      expectRefusal(await server.put(ann, person('ann', { age: 2 }, { uid, version: 1 })), { reason: 'Conflict' });
    });

    it('removes labels, annotations and finalizers that a PUT leaves out', async () => {
      const metadata = { labels: { a: 'b' }, annotations: { c: 'd' }, finalizers: ['x.y/z'] };
      await server.put(ann, person('ann', {}, metadata));
      const { body } = await server.put(ann, person('ann'));
      expect(body.metadata).to.not.have.any.keys('labels', 'annotations', 'finalizers');
    });
  });

  describe('generation', () => {
    it('increases with changes outside of metadata and status, and when deletionTimestamp is set', async () => {
      const generations: number[] = [];
      const note = async (answer: Promise<{ body: { metadata: { generation: number } } }>): Promise<void> => {
        generations.push((await answer).body.metadata.generation);
      };
      await note(server.get(ann));
      await note(server.patch(ann, { spec: { age: 1 } }));
      await note(server.patch(ann, { metadata: { labels: { a: 'b' }, finalizers: ['x.y/z'] } }));
      await note(server.patch(ann, { status: { greeting: 'hi' } }));
      await note(server.put(`${ann}/status`, { ...person('ann'), status: { greeting: 'ho' } }));
      await note(server.patch(ann, { spec: { age: 1 } }));
      await note(server.delete(ann));
      expect(generations).to.deep.equal([1, 2, 2, 2, 2, 2, 3]);
      await server.patch(ann, { metadata: { finalizers: null } });
    });

    interface Case {
      readonly name: string;
      readonly old: { spec: unknown; status: unknown; metadata: { other?: string } };
      readonly obj: { spec: unknown; status: unknown; metadata: { other?: string } };
      readonly statusEnabled: boolean;
      readonly expected: { spec: unknown; status: unknown; metadata: { generation: number; other?: string } };
    }
    const vectors = new URL('../vectors/generation.json', import.meta.url);
    const { cases } = JSON.parse(readFileSync(vectors, 'utf8')) as { cases: readonly Case[] };
    // On this server, a change of status does not increase the generation, even if the kind has no status subresource.
    const deviating = '/status is disabled, status changes increment generation';

    for (const { name, old, obj, statusEnabled, expected } of cases) {
      it(`after a PUT is ${name === deviating ? 'not ' : ''}that of Kubernetes, in the case: ${name}`, async () => {
        const [path, kind] = statusEnabled ? [machines, 'Machine'] : [persons, 'Person'];
        const asSent = ({ spec, status, metadata }: Case['old']): object => ({
          apiVersion,
          kind,
          metadata: {
            name: 'vector',
            ...(metadata.other === undefined ? {} : { annotations: { other: metadata.other } }),
          },
          spec: statusEnabled ? { power: spec === 'old' ? 1 : 2 } : { name: spec },
          status: statusEnabled ? { running: status === 'new' } : { greeting: status },
        });
        await server.create(path, asSent(old));
        await server.put(`${path}/vector/status`, asSent(old));
        const { body } = await server.put(`${path}/vector`, asSent(obj));
        expect(body.metadata.generation).to.equal(name === deviating ? 1 : expected.metadata.generation);
        expect(body.metadata.annotations?.other).to.equal(expected.metadata.other);
        const shown = statusEnabled
          ? { spec: body.spec.power === 1 ? 'old' : 'new', status: body.status.running ? 'new' : 'old' }
          : { spec: body.spec.name, status: body.status.greeting };
        expect(shown).to.deep.equal({ spec: expected.spec, status: expected.status });
        await server.delete(`${path}/vector`);
      });
    }
  });

  describe('a write that changes nothing', () => {
    it('stores nothing, sends no event, and returns the stored object', async () => {
      const stored = (await server.patch(ann, { metadata: { labels: { a: 'b' } }, spec: { tags: ['x', 'y'] } })).body;
      const same = { labels: { a: 'b' } };
      const writes = [
        (): ReturnType<TestServer['put']> => server.put(ann, stored),
        () => server.put(ann, person('ann', { tags: ['x', 'y'] }, same)),
        () =>
          server.put(ann, {
            spec: { tags: ['x', 'y'], name: 'Ann Lee' },
            metadata: { ...same, name: 'ann' },
            kind: 'Person',
            apiVersion,
          }),
        () => server.put(ann, person('ann', { tags: ['x', 'y'], bogus: 1 }, same)),
        () => server.patch(ann, {}),
        () => server.patch(ann, { spec: { name: 'Ann Lee' } }),
        () => server.patch(ann, [], { type: 'application/json-patch+json' }),
        () => server.patch(`${ann}/status`, { spec: { age: 4 } }),
      ];
      for (const write of writes) {
        const answer = await leavesNoTrace(server, write);
        expect(answer.status).to.equal(200);
        expect(answer.body).to.deep.equal(stored);
      }
    });
  });

  describe('deletion', () => {
    it('removes an object without finalizers at once, and returns a Status with name, group, kind and uid [spec 3-finalizers, 3-transitions, 4.1-delete]', async () => {
      const { uid } = (await server.get(ann)).body.metadata;
      const { status, body } = await server.delete(ann);
      expect(status).to.equal(200);
      expect(body).to.deep.equal({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Success',
        details: { name: 'ann', group: 'people.example.com', kind: 'persons', uid },
      });
      expect((await server.get(ann)).status).to.equal(404);
    });

    it('sets deletionTimestamp on an object with finalizers, which stays until its last finalizer is removed [spec 2.3-deletion-timestamp, 2.3-finalizers, 3-declared-deleted, 3-finalizers, 3-transitions]', async () => {
      await server.patch(ann, { metadata: { finalizers: ['a.b/one', 'a.b/two'] } });
      const watch = await follow();
      const marked = await server.delete(ann);
      expect(marked.status).to.equal(200);
      expect(marked.body.metadata).to.include({ generation: 2, version: 3, deletionGracePeriodSeconds: 0 });
      expect(marked.body.metadata.deletionTimestamp).to.match(/^2030-01-01T00:00:\d\dZ$/);
      expect((await server.get(ann)).body).to.deep.equal(marked.body);

      const again = await leavesNoTrace(server, () => server.delete(ann));
      expect([again.status, again.body]).to.deep.equal([200, marked.body]);
      const more = { metadata: { finalizers: ['a.b/one', 'a.b/two', 'a.b/three'] } };
      expectRefusal(await server.patch(ann, more), {
        reason: 'Invalid',
        causes: ['FieldValueForbidden metadata.finalizers'],
      });

      const fewer = await server.patch(ann, { metadata: { finalizers: ['a.b/two'] } });
      expect(fewer.body.metadata.finalizers).to.deep.equal(['a.b/two']);
      const changed = await server.patch(ann, { spec: { age: 3 } });
      expect([changed.status, changed.body.spec.age]).to.deep.equal([200, 3]);
      const last = await server.put(ann, person('ann', { age: 3 }, { finalizers: [] }));
      expect([last.status, last.body.kind]).to.deep.equal([200, 'Person']);
      expect((await server.get(ann)).status).to.equal(404);

      const events = await watch.until((seen) => seen.at(-1)?.type === 'DELETED');
      const ofAnn = events.filter(({ object }) => object.metadata.name === 'ann');
      expect(ofAnn.map(({ type }) => type)).to.deep.equal(['MODIFIED', 'MODIFIED', 'MODIFIED', 'DELETED']);
      const gone = ofAnn.at(-1)?.object.metadata;
      expect(gone.resourceVersion).to.equal(await server.revision(persons));
      expect(gone.deletionTimestamp).to.equal(marked.body.metadata.deletionTimestamp);
    });

    it('cannot be undone by a patch that removes deletionTimestamp [spec 3-transitions]', async () => {
      await server.patch(ann, { metadata: { finalizers: ['a.b/c'] } });
      await server.delete(ann);
      const { deletionTimestamp } = (await server.get(ann)).body.metadata;
      const undone = await server.patch(ann, { metadata: { deletionTimestamp: null } });
      expect(undone.body.metadata.deletionTimestamp).to.equal(deletionTimestamp);
      await server.patch(ann, { metadata: { finalizers: [] } });
    });

    it('deletes the selected objects of a collection, and returns their list', async () => {
      await server.create(persons, person('red', {}, { labels: { team: 'red' } }));
      await server.create(persons, person('held', {}, { labels: { team: 'red' }, finalizers: ['a.b/c'] }));
      const { status, body } = await server.delete(`${persons}?labelSelector=team=red`);
      expect([status, body.kind]).to.deep.equal([200, 'PersonList']);
      expect(body.items.map((item: { metadata: { name: string } }) => item.metadata.name)).to.have.members([
        'red',
        'held',
      ]);
      const left = (await server.get(`${persons}?sort=name`)).body.items as { metadata: Record<string, unknown> }[];
      expect(left.map(({ metadata }) => metadata['name'])).to.deep.equal(['ann', 'held']);
      expect(left[1]?.metadata).to.have.property('deletionTimestamp');
      await server.patch(`${persons}/held`, { metadata: { finalizers: null } });
    });

    it('deletes all 12,000 objects of a collection, although at most 10,000 writes may wait at once [slow]', async () => {
      // While the server commits a batch of at most 1,000 writes, 10,000 more may wait. It would refuse some of 12,000
      // writes at once, so the test creates the objects in parts, and the server deletes them in parts.
      const creations = 12_000;
      for (let from = 0; from < creations; from += 2000) {
        const names = Array.from({ length: 2000 }, (_, index) => `m-${from + index}`);
        await Promise.all(names.map(async (name) => server.api.client.create(machine, { metadata: { name } })));
      }
      expect((await server.delete(machines)).status).to.equal(200);
      expect((await server.get(machines)).body.total).to.equal(0);
    });
  });

  describe('labels and annotations', () => {
    it('accept keys and values that follow the rules of their format [spec 2.3-annotations, 2.5-form]', async () => {
      const labels = { 'example.com/Team_1.x': 'Red-1', plain: '', a: 'x'.repeat(63) };
      const annotations = { 'Example.com/note': 'anything at all: ☃ \n', plain: 'x'.repeat(200_000) };
      const { status, body } = await server.post(persons, person('bob', {}, { labels, annotations }));
      expect(status).to.equal(201);
      expect(body.metadata).to.deep.include({ labels, annotations });
    });

    const bad: readonly [claim: string, metadata: object, field: string, rule?: string][] = [
      ['a label value of 64 characters', { labels: { a: 'x'.repeat(64) } }, 'metadata.labels'],
      ['a label name of 64 characters', { labels: { ['x'.repeat(64)]: 'a' } }, 'metadata.labels', '2.5-name-length'],
      ['a label prefix of upper case', { labels: { 'Example.com/a': 'a' } }, 'metadata.labels', '2.5-prefix'],
      ['an empty label prefix', { labels: { '/a': 'a' } }, 'metadata.labels', '2.5-prefix'],
      [
        'annotations over 256 KiB in all',
        { annotations: { a: 'x'.repeat(200_000), b: 'x'.repeat(70_000) } },
        'metadata.annotations',
      ],
      ['an annotation key with a space', { annotations: { 'a b': 'x' } }, 'metadata.annotations'],
    ];
    for (const [claim, metadata, field, rule] of bad) {
      it(`refuse ${claim}, on creation and update${rule === undefined ? '' : ` [spec ${rule}]`}`, async () => {
        for (const send of [
          () => server.post(persons, person('bob', {}, metadata)),
          () => server.put(ann, person('ann', {}, metadata)),
        ]) {
          const answer = await leavesNoTrace(server, send);
          expectRefusal(answer, { reason: 'Invalid' });
          expect(answer.body.details.causes[0].field).to.equal(field);
        }
      });
    }
  });

  it('distinguishes objects of the same name in two namespaces, and of two kinds', async () => {
    const there = lettersHere.replace('here', 'there');
    await server.create(lettersHere, newLetter('same', { text: 'one' }));
    await server.create(there, newLetter('same', { text: 'two' }));
    await server.create(machines, newMachine('same'));
    await server.delete(`${there}/same`);
    expect((await server.get(`${lettersHere}/same`)).body.spec.text).to.equal('one');
    expect((await server.get(`${there}/same`)).status).to.equal(404);
    expect((await server.get(`${machines}/same`)).status).to.equal(200);
  });
});
