import { expect } from 'chai';
import { apiVersion, letters, machines, newLetter, newMachine, person, persons } from './support/models/models.ts';
import { createNamespaces } from './support/models/namespaces.ts';
import { expectRefusal, leavesNoTrace } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';

const ann = `${persons}/ann`;
const mach = `${machines}/m`;
const jsonPatch = { type: 'application/json-patch+json' };
const yaml = { type: 'application/yaml' };

function warningsOf({ headers }: Answer): string[] {
  return (headers['warning'] ?? '').split(', 299').filter((text) => text !== '');
}

describe('objects: writes', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
    await createNamespaces(server.api.client, ['here']);
  });

  beforeEach(async () => {
    await server.delete(persons);
    await server.delete(machines);
    await server.create(persons, person('ann', { age: 30, tags: ['a'] }));
  });

  after(() => server.stop());

  describe('status of a kind without the subresource', () => {
    it('is part of the object: creation and update store it [spec 2.2-status]', async () => {
      const created = await server.create(persons, { ...person('bob'), status: { greeting: 'hello' } });
      expect(created.status).to.deep.equal({ greeting: 'hello' });
      const { body } = await server.put(`${persons}/bob`, { ...person('bob'), status: { greeting: 'bye' } });
      expect(body.status).to.deep.equal({ greeting: 'bye' });
    });

    it('stays unchanged in a PUT without status', async () => {
      await server.patch(ann, { status: { greeting: 'hello' } });
      const { body } = await server.put(ann, person('ann', { age: 31 }));
      expect([body.spec.age, body.status]).to.deep.equal([31, { greeting: 'hello' }]);
    });

    it('is removed by a merge patch with null, and by a JSON patch', async () => {
      await server.patch(ann, { status: { greeting: 'hello' } });
      expect((await server.patch(ann, { status: null })).body).to.not.have.property('status');
      await server.patch(ann, { status: { greeting: 'again' } });
      expect((await server.patch(ann, [{ op: 'remove', path: '/status' }], jsonPatch)).body).to.not.have.property(
        'status',
      );
      expect((await server.get(ann)).body).to.not.have.property('status');
    });

    it('is validated by the schema [spec 2.3-status-structure]', async () => {
      const wrong = { status: { greeting: 5 } };
      const causes = ['FieldValueTypeInvalid status.greeting'];
      expectRefusal(await leavesNoTrace(server, () => server.patch(ann, wrong)), { reason: 'Invalid', causes });
      expectRefusal(await leavesNoTrace(server, () => server.patch(`${ann}/status`, wrong)), {
        reason: 'Invalid',
        causes,
      });
    });
  });

  describe('status of a kind with the subresource [compat status]', () => {
    it('is ignored in a creation and an update of the object', async () => {
      const created = await server.create(machines, newMachine('m', { spec: { power: 1 }, status: { running: true } }));
      expect(created).to.not.have.property('status');
      await server.put(`${mach}/status`, newMachine('m', { status: { running: true } }));
      const put = await server.put(mach, newMachine('m', { spec: { power: 2 }, status: { running: false } }));
      expect([put.body.spec.power, put.body.status]).to.deep.equal([2, { running: true }]);
      const patched = await server.patch(mach, { spec: { power: 3 }, status: { running: false } });
      expect([patched.body.spec.power, patched.body.status]).to.deep.equal([3, { running: true }]);
      expect((await server.patch(mach, { status: null })).body.status).to.deep.equal({ running: true });
    });
  });

  for (const [claim, path, fresh] of [
    ['without', ann, (): unknown => person('ann', { age: 30, tags: ['a'] })],
    ['with', mach, (): unknown => newMachine('m', { spec: { power: 1 } })],
  ] as const) {
    it(`a write to /status changes only the status of an object, for a kind ${claim} the status subresource [spec 4.1-subextension]`, async () => {
      const collection = path.slice(0, path.lastIndexOf('/'));
      await server.post(collection, fresh());
      const stored = (await server.get(path)).body;
      const status = path === ann ? { greeting: 'hi' } : { running: true };
      const sent = {
        ...stored,
        metadata: { name: stored.metadata.name, labels: { x: 'y' }, finalizers: ['a.b/c'] },
        spec: {},
        status,
      };
      const put = (await server.put(`${path}/status`, sent)).body;
      expect(put.spec).to.deep.equal(stored.spec);
      expect(put.status).to.deep.equal(status);
      expect(put.metadata).to.include({ version: 2, generation: 1, uid: stored.metadata.uid });
      expect(put.metadata).to.not.have.any.keys('labels', 'finalizers');
      expect((await server.get(`${path}/status`)).body).to.deep.equal(put);
      const patched = (await server.patch(`${path}/status`, { spec: { name: 'Other', power: 9 }, status: null })).body;
      expect(patched.spec).to.deep.equal(stored.spec);
      expect(patched).to.not.have.property('status');
    });
  }

  describe('dryRun=All [compat dry-run]', () => {
    it('returns the object that a creation would store, without a resourceVersion', async () => {
      const { status, body, headers } = await leavesNoTrace(server, () =>
        server.post(`${persons}?dryRun=All`, person('bob', { bogus: 1 })),
      );
      expect(status).to.equal(201);
      expect(body.metadata).to.include({ name: 'bob', version: 1, generation: 1 });
      expect(body.metadata).to.not.have.property('resourceVersion');
      expect(body.metadata.uid).to.be.a('string').and.not.empty;
      expect(body.spec.nick).to.equal('none');
      expect(headers['warning']).to.contain('spec.bogus');
      expect((await server.get(`${persons}/bob`)).status).to.equal(404);
    });

    it('returns the results of updates and patches, and stores nothing', async () => {
      const query = '?dryRun=All';
      const put = await leavesNoTrace(server, () => server.put(`${ann}${query}`, person('ann', { age: 31 })));
      expect([put.status, put.body.spec.age, put.body.metadata.version]).to.deep.equal([200, 31, 2]);
      const patch = await leavesNoTrace(server, () => server.patch(`${ann}${query}`, { spec: { age: 32 } }));
      expect([patch.status, patch.body.spec.age, patch.body.metadata.generation]).to.deep.equal([200, 32, 2]);
      const status = { status: { greeting: 'hi' } };
      const sub = await leavesNoTrace(server, () => server.patch(`${ann}/status${query}`, status));
      expect([sub.status, sub.body.status]).to.deep.equal([200, status.status]);
      expect((await server.get(ann)).body).to.not.have.property('status');
    });

    it('returns the results of deletions, and deletes nothing', async () => {
      const { metadata } = (await server.get(ann)).body;
      for (const options of [{}, { body: { dryRun: ['All'] } }]) {
        const path = 'body' in options ? ann : `${ann}?dryRun=All`;
        const { status, body } = await leavesNoTrace(server, () => server.delete(path, options));
        expect([status, body.status, body.details.uid]).to.deep.equal([200, 'Success', metadata.uid]);
      }
      await server.patch(ann, { metadata: { finalizers: ['a.b/c'] } });
      const marked = await leavesNoTrace(server, () => server.delete(`${ann}?dryRun=All`));
      expect(marked.body.metadata).to.have.property('deletionTimestamp');
      expect((await server.get(ann)).body.metadata).to.not.have.property('deletionTimestamp');
      const list = await leavesNoTrace(server, () => server.delete(`${persons}?dryRun=All`));
      expect([list.status, list.body.total]).to.deep.equal([200, 1]);
      await server.patch(ann, { metadata: { finalizers: null } });
    });
  });

  describe('unknown fields [compat validation]', () => {
    const unknown = {
      bogus: 1,
      otherPerson: { apiVersion, kind: 'Person', metadata: { name: 'o' }, spec: { name: 'O', more: 2 } },
    };
    const expected = ['unknown field "spec.bogus"', 'unknown field "spec.otherPerson.spec.more"'];

    for (const query of ['', '?fieldValidation=Warn']) {
      it(`are pruned, with a Warning for each field${query === '' ? ', by default' : ''}`, async () => {
        const answer = await server.post(`${persons}${query}`, person('bob', unknown));
        expect(answer.status).to.equal(201);
        const warnings = warningsOf(answer);
        expect(warnings).to.have.length(2);
        expect(warnings[0]).to.equal(`299 - ${JSON.stringify(expected[0])}`);
        expect(warnings.join()).to.contain(JSON.stringify(expected[1]));
        expect(answer.body.spec).to.not.have.property('bogus');
        expect(answer.body.spec.otherPerson.spec).to.deep.equal({ name: 'O', nick: 'none' });
        const put = await server.put(`${ann}${query}`, person('ann', unknown));
        expect(warningsOf(put)).to.have.length(2);
        expect(put.body.spec).to.not.have.property('bogus');
      });
    }

    it('are pruned without a warning with fieldValidation=Ignore', async () => {
      const answer = await server.post(`${persons}?fieldValidation=Ignore`, person('bob', unknown));
      expect([answer.status, warningsOf(answer)]).to.deep.equal([201, []]);
      expect(answer.body.spec).to.not.have.property('bogus');
    });

    it('are also pruned at the top level and in metadata', async () => {
      const answer = await server.post(persons, { ...person('bob', {}, { colour: 'red' }), extra: {} });
      expect(answer.body).to.not.have.property('extra');
      expect(answer.body.metadata).to.not.have.property('colour');
      expect(answer.headers['warning']).to.contain('extra').and.contain('metadata.colour');
    });

    it('are pruned even if their names have characters that are not valid in a header such as Warning', async () => {
      const answer = await server.post(persons, person('bob', { 'new\nline': 1, 'snow☃man': 2, 'quo"te': 3 }));
      expect(answer.status, answer.text).to.equal(201);
      expect(Object.keys(answer.body.spec)).to.have.members(['name', 'nick']);
    });
  });

  describe('defaults', () => {
    it('are filled in at creation and update, also in nested objects', async () => {
      const otherPerson = { apiVersion, kind: 'Person', metadata: { name: 'o' }, spec: { name: 'O' } };
      const created = await server.create(persons, person('bob', { otherPerson }));
      expect(created.spec.nick).to.equal('none');
      expect(created.spec.otherPerson.spec.nick).to.equal('none');
      const { body } = await server.patch(`${persons}/bob`, { spec: { nick: null } });
      expect(body.spec.nick).to.equal('none');
    });

    it('do not replace existing values', async () => {
      expect((await server.create(persons, person('bob', { nick: '' }))).spec.nick).to.equal('');
    });
  });

  describe('media types', () => {
    const text = `# a person\napiVersion: ${apiVersion}\nkind: Person\nmetadata:\n  name: yam\n  labels: {on: "yes", n: 'no'}\nspec:\n  name: Y\n  age: 0x1F\n  tags: [a, "1", 'true']\n`;

    it('accepts YAML', async () => {
      const { status, body } = await server.post(persons, text, yaml);
      expect(status, JSON.stringify(body)).to.equal(201);
      expect(body.spec).to.deep.equal({ name: 'Y', age: 31, tags: ['a', '1', 'true'], nick: 'none' });
      expect(body.metadata.labels).to.deep.equal({ on: 'yes', n: 'no' });
      const put = await server.put(`${persons}/yam`, text.replace('0x1F', '32'), yaml);
      expect([put.status, put.body.spec.age]).to.deep.equal([200, 32]);
    });

    it('treats the YAML words y, on and no, and dates and times, as strings', async () => {
      const words = text.replace('name: Y', 'name: 2030-01-01').replace('[a, "1", \'true\']', '[y, on, no, 12:30]');
      const { body } = await server.post(persons, words, yaml);
      expect(body.spec.tags).to.deep.equal(['y', 'on', 'no', '12:30']);
      expect(body.spec.name).to.equal('2030-01-01');
    });

    it('sends an object as YAML to a client that requests YAML, and this YAML has the same spec as the JSON', async () => {
      const json = (await server.get(ann)).body;
      const answer = await server.get(ann, { accept: 'application/yaml' });
      expect(answer.headers['content-type']).to.equal('application/yaml');
      await server.delete(ann);
      expect(
        (await server.post(persons, answer.text.replace(/^ {2}resourceVersion: .*\n/m, ''), yaml)).status,
      ).to.equal(201);
      const again = (await server.get(ann)).body;
      expect(again.spec).to.deep.equal(json.spec);
      const list = await server.get(persons, { accept: 'application/yaml' });
      expect(list.text).to.contain('kind: PersonList');
      const created = await server.post(persons, person('bob'), { headers: { accept: 'application/yaml' } });
      expect(created.text).to.contain('kind: Person\n');
    });

    it('treats a PUT or POST without Content-Type as JSON', async () => {
      expect((await server.post(persons, person('bob'), { type: '' })).status).to.equal(201);
      expect((await server.put(ann, person('ann', { age: 1 }), { type: '' })).body.spec.age).to.equal(1);
      const { status } = await server.post(persons, person('cid'), { type: 'application/json; charset=UTF-8' });
      expect(status).to.equal(201);
    });

    it('keeps all characters in JSON and YAML, also those outside of the Basic Multilingual Plane', async () => {
      const name = 'Ä€𝄞😀\u2028"\\/\u0007';
      await server.create(persons, person('bob', { name }));
      expect((await server.get(`${persons}/bob`)).body.spec.name).to.equal(name);
      const answer = await server.get(`${persons}/bob`, { accept: 'application/yaml' });
      const renamed = answer.text.replace('name: bob', 'name: rob').replace(/^ {2}resourceVersion: .*\n/m, '');
      expect((await server.post(persons, renamed, yaml)).body.spec.name).to.equal(name);
    });
  });

  describe('patches [compat patch]', () => {
    it('are merged by RFC 7396: null removes a field, and a list replaces the stored list', async () => {
      const { body } = await server.patch(ann, {
        metadata: { labels: { a: 'b' } },
        spec: { age: null, tags: ['b', 'c'] },
      });
      expect(body.spec).to.deep.equal({ name: 'Ann Lee', tags: ['b', 'c'], nick: 'none' });
      expect(body.metadata.labels).to.deep.equal({ a: 'b' });
    });

    it('are merged by RFC 7396 when they are strategic merge patches without directives', async () => {
      const type = 'application/strategic-merge-patch+json';
      const { status, body } = await server.patch(ann, { spec: { age: 5, tags: ['z'] } }, { type });
      expect([status, body.spec.age, body.spec.tags]).to.deep.equal([200, 5, ['z']]);
    });

    it('apply the operations of a JSON patch in order', async () => {
      const operations = [
        { op: 'test', path: '/spec/age', value: 30 },
        { op: 'replace', path: '/spec/age', value: 31 },
        { op: 'add', path: '/spec/tags/-', value: 'end' },
        { op: 'add', path: '/spec/tags/0', value: 'start' },
        { op: 'copy', from: '/spec/name', path: '/spec/slug' },
        { op: 'add', path: '/metadata/labels', value: {} },
        { op: 'add', path: '/metadata/labels/example.com~1team', value: 'red' },
      ];
      const { status, body } = await server.patch(ann, operations, jsonPatch);
      expect(status, JSON.stringify(body)).to.equal(200);
      expect(body.spec).to.deep.include({ age: 31, tags: ['start', 'a', 'end'], slug: 'Ann Lee' });
      expect(body.metadata.labels).to.deep.equal({ 'example.com/team': 'red' });
    });

    it('apply all operations of a JSON patch, or none', async () => {
      const stored = (await server.get(ann)).body;
      const operations = [
        { op: 'replace', path: '/spec/age', value: 99 },
        { op: 'test', path: '/spec/name', value: 'Nobody' },
      ];
      expectRefusal(await leavesNoTrace(server, () => server.patch(ann, operations, jsonPatch)), { reason: 'Invalid' });
      expect((await server.get(ann)).body).to.deep.equal(stored);
    });

    it('lose no update when many run concurrently', async () => {
      const names = Array.from({ length: 20 }, (_, i) => `label-${i}`);
      const answers = await Promise.all(
        names.map((name) => server.patch(ann, { metadata: { labels: { [name]: 'x' } } })),
      );
      expect(answers.every(({ status }) => status === 200)).to.equal(true);
      const { metadata } = (await server.get(ann)).body;
      expect(Object.keys(metadata.labels)).to.have.members(names);
      expect(metadata.version).to.equal(21);
    });

    it('return 404 for an absent object, and change an object in a namespace', async () => {
      expectRefusal(await server.patch(`${persons}/nobody`, { spec: { name: 'N' } }), { reason: 'NotFound' });
      const path = letters.replace('letters', 'namespaces/here/letters');
      await server.create(path, newLetter('l', { weight: 1 }));
      expect((await server.patch(`${path}/l`, { spec: { weight: 2 } })).body.spec.weight).to.equal(2);
    });
  });

  it('responds to HEAD like GET, without a body', async () => {
    const head = await server.request('HEAD', ann);
    const get = await server.get(ann);
    expect([head.status, head.text]).to.deep.equal([200, '']);
    expect(head.headers['content-length']).to.equal(get.headers['content-length']);
    expect((await server.request('HEAD', `${persons}/nobody`)).status).to.equal(404);
  });
});
