import { expect } from 'chai';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { appliedPerson, appliedPersons, appliedVersion } from './support/models/applied-person.ts';
import { machines, newMachine, person, persons } from './support/models/models.ts';
import { expectRefusal, leavesNoTrace } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';

const type = 'application/apply-patch+yaml';
const ann = `${appliedPersons}/ann`;
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

interface Entry {
  readonly manager: string;
  readonly operation: string;
  readonly time?: string;
  readonly fieldsV1: object;
  readonly subresource?: string;
}

describe('server-side apply over HTTP [compat server-side-apply]', () => {
  let server: TestServer;
  let clock: FakeClock;

  before(async () => {
    clock = new FakeClock();
    server = await TestServer.start({ clock });
    server.api.schemeManager.register(appliedPerson);
    await server.api.whenReady(appliedPerson);
  });

  beforeEach(() => server.delete(appliedPersons));

  after(() => server.stop());

  function object(fields: object = {}, metadata: object = {}): object {
    return { apiVersion: appliedVersion, kind: 'Person', metadata: { name: 'ann', ...metadata }, ...fields };
  }

  function apply(manager: string, fields: object, query = ''): Promise<Answer> {
    return server.patch(`${ann}?fieldManager=${manager}${query}`, object(fields), { type });
  }

  function entriesOf({ body }: Answer): readonly Entry[] {
    return (body.metadata.managedFields ?? []) as readonly Entry[];
  }

  function managersOf(answer: Answer): readonly string[] {
    return entriesOf(answer).map(({ manager, operation }) => `${manager} ${operation}`);
  }

  describe('request', () => {
    it('may be YAML or JSON, and creates an absent object', async () => {
      const yaml = `apiVersion: ${appliedVersion}\nkind: Person\nmetadata: {name: ann}\nspec: {name: Ann}\n`;
      expect((await server.patch(`${ann}?fieldManager=a`, yaml, { type })).status).to.equal(201);
      expect((await apply('a', { spec: { name: 'Ann', age: 3 } })).status).to.equal(200);
      expect((await server.get(ann)).body.spec).to.deep.equal({ name: 'Ann', age: 3, replicas: 1 });
      const flow = `{apiVersion: ${appliedVersion}, kind: Person, metadata: {name: ann}, spec: {name: Ann}}`;
      expect((await server.patch(`${ann}?fieldManager=a`, flow, { type })).body.spec).to.not.have.property('age');
    });

    it('is refused with 422 when its fieldManager is missing or malformed, or force is not a boolean', async () => {
      expectRefusal(await server.patch(ann, object({ spec: { name: 'Ann' } }), { type }), {
        reason: 'Invalid',
        message: 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
        causes: ['FieldValueRequired fieldManager'],
      });
      expectRefusal(await apply('a', {}, '&force=perhaps'), { reason: 'Invalid', causes: ['FieldValueInvalid force'] });
      for (const bad of ['x'.repeat(129), 'a%07']) expectRefusal(await apply(bad, {}), { reason: 'Invalid' });
    });

    it('is refused with 400 when its body is malformed, or names another object', async () => {
      const refused: readonly (readonly [unknown, string])[] = [
        ['{', ''],
        ['[]', ''],
        [{ kind: 'Person', metadata: { name: 'ann' } }, 'apiVersion'],
        [{ apiVersion: appliedVersion, kind: 'Person', spec: {} }, 'name must be provided'],
        [object({}, { name: 'bob' }), 'does not match the name on the URL'],
        [object({}, { managedFields: [] }), 'metadata.managedFields must be nil'],
        [object({}, { managedFields: [{ manager: 'x' }] }), 'metadata.managedFields must be nil'],
      ];
      for (const [body, message] of refused) {
        const answer = await server.patch(`${ann}?fieldManager=a`, body, { type });
        expectRefusal(answer, { reason: 'BadRequest', message });
      }
      expect((await server.get(ann)).status).to.equal(404);
    });

    it('is refused with 409 when its resourceVersion, version or uid differs from the stored one', async () => {
      await apply('a', { spec: { name: 'Ann' } });
      for (const lock of [{ resourceVersion: '1' }, { version: 7 }, { uid: 'other' }]) {
        const answer = await server.patch(`${ann}?fieldManager=a`, object({ spec: { name: 'B' } }, lock), { type });
        expectRefusal(answer, { reason: 'Conflict' });
      }
      const absent = object({ spec: { name: 'B' } }, { uid: 'x', name: 'bob' });
      const path = `${appliedPersons}/bob?fieldManager=a`;
      expectRefusal(await server.patch(path, absent, { type }), { reason: 'Conflict', message: 'uid mismatch' });
    });

    it('drops unknown fields with a warning, or is refused with fieldValidation Strict', async () => {
      const strict = await apply('a', { spec: { name: 'Ann', bogus: 1 } }, '&fieldValidation=Strict');
      expectRefusal(strict, { reason: 'BadRequest', message: 'unknown field "spec.bogus"' });
      const answer = await apply('a', { spec: { name: 'Ann', bogus: 1 } });
      expect(answer.headers['warning']).to.contain('spec.bogus');
      expect(entriesOf(answer)[0]?.fieldsV1).to.deep.equal({ 'f:spec': { 'f:name': {} } });
    });

    it('is refused for a duplicate item in a list of type set or map, with the name of the field', async () => {
      const ports = [{ port: 1 }, { port: 1, protocol: 'TCP' }];
      for (const spec of [{ tags: ['x', 'x'] }, { ports }]) {
        const field = Object.keys(spec)[0] as string;
        const causes = [`FieldValueDuplicate spec.${field}[1]`];
        expectRefusal(await apply('a', { spec: { name: 'Ann', ...spec } }), { reason: 'Invalid', causes });
      }
    });

    it('stores nothing when it is a dry run or has a conflict', async () => {
      expect((await apply('a', { spec: { name: 'Ann' } }, '&dryRun=All')).status).to.equal(201);
      expect((await server.get(ann)).status).to.equal(404);
      await apply('a', { spec: { name: 'Ann' } });
      const answer = await leavesNoTrace(server, () => apply('b', { spec: { name: 'Bob' } }));
      expectRefusal(answer, { reason: 'Conflict', causes: ['FieldManagerConflict .spec.name'] });
    });

    it('to the status subresource needs an existing object (else 404), and writes only status', async () => {
      const status = { status: { phase: 'Up' }, spec: { name: 'Mallory' } };
      const send = (): Promise<Answer> => server.patch(`${ann}/status?fieldManager=c`, object(status), { type });
      expectRefusal(await send(), { reason: 'NotFound' });
      await apply('a', { spec: { name: 'Ann' }, status: { phase: 'Down' } });
      const answer = await send();
      expect(answer.body).to.deep.include({ spec: { name: 'Ann', replicas: 1 }, status: { phase: 'Up' } });
      expect(managersOf(answer)).to.deep.equal(['a Apply', 'c Apply']);
      expect(entriesOf(answer)[1]).to.include({ subresource: 'status' });
    });
  });

  it('writes nothing when the same request is sent again: no new version, and no event of a watch', async () => {
    const fields = { spec: { name: 'Ann', tags: ['x'], ports: [{ port: 1 }], limits: { cpu: { max: 1 } } } };
    const first = await apply('a', fields);
    await clock.advance(60_000);
    const second = await leavesNoTrace(server, () => apply('a', fields));
    expect(second.body).to.deep.equal(first.body);
  });

  it('writes nothing when an apply that gives its manager no fields is sent again', async () => {
    const send = (): Promise<Answer> => server.patch(`${machines}/bare?fieldManager=a`, newMachine('bare'), { type });
    const first = await send();
    expect([first.status, entriesOf(first)]).to.deep.equal([201, []]);
    const second = await leavesNoTrace(server, send);
    expect(second.body).to.deep.equal(first.body);
  });

  it('identifies items of a list by their keys, with the default value of an absent key', async () => {
    await apply('a', { spec: { name: 'Ann', ports: [{ port: 1, name: 'one' }] } });
    const answer = await apply('b', {
      spec: {
        ports: [
          { port: 1, protocol: 'TCP' },
          { port: 1, protocol: 'UDP' },
        ],
      },
    });
    expect(answer.body.spec.ports).to.deep.equal([
      { port: 1, name: 'one', protocol: 'TCP' },
      { port: 1, protocol: 'UDP' },
    ]);
    const conflict = await apply('b', { spec: { ports: [{ port: 1, name: 'two' }] } });
    expectRefusal(conflict, {
      reason: 'Conflict',
      causes: ['FieldManagerConflict .spec.ports[port=1,protocol="TCP"].name'],
    });
  });

  it("updates the time of a manager's entry only when the manager changes fields", async () => {
    await apply('a', { spec: { name: 'Ann' } });
    await clock.advance(60_000);
    const shared = await apply('b', { spec: { name: 'Ann' } });
    // As in Kubernetes, entries without a time come first.
    expect(entriesOf(shared).map(({ manager, time }) => [manager, time])).to.deep.equal([
      ['b', undefined],
      ['a', '2030-01-01T00:01:00Z'],
    ]);
    const changed = await apply('b', { spec: { name: 'Ann', age: 1 } });
    expect(entriesOf(changed).find(({ manager }) => manager === 'b')).to.include({ time: '2030-01-01T00:02:00Z' });
  });

  it("takes over the fields of kubectl's client-side apply, and updates kubectl's annotation", async () => {
    const config = { ...object({ spec: { name: 'Ann', age: 1 } }) };
    const annotations = { [lastApplied]: `${JSON.stringify(config)}\n` };
    await server.post(`${appliedPersons}?fieldManager=kubectl-client-side-apply`, {
      ...config,
      metadata: { name: 'ann', annotations },
    });
    expectRefusal(await apply('other', { spec: { name: 'Ann', age: 2 } }), { reason: 'Conflict' });
    const answer = await apply('kubectl', { spec: { name: 'Ann', age: 2 } });
    expect(answer.body.spec.age, answer.text).to.equal(2);
    expect(JSON.parse(answer.body.metadata.annotations[lastApplied])).to.deep.equal(
      object({ spec: { name: 'Ann', age: 2 } }),
    );
    await server.patch(`${ann}?fieldManager=another`, { spec: { age: 3 } });
    const lost = await apply('kubectl', { spec: { name: 'Ann', age: 4 } });
    expectRefusal(lost, { reason: 'Conflict', message: 'conflict with "another" using' });
  });
});

describe('with requests other than apply, managedFields', () => {
  let server: TestServer;
  let clock: FakeClock;
  const bob = `${persons}/bob`;

  before(async () => {
    clock = new FakeClock();
    server = await TestServer.start({ clock });
  });

  beforeEach(() => server.delete(persons));

  after(() => server.stop());

  function managedFields({ body }: Answer): readonly Entry[] | undefined {
    return body.metadata.managedFields as readonly Entry[] | undefined;
  }

  it('name the creator: the fieldManager, else the User-Agent, else unknown', async () => {
    const answers = [
      await server.post(`${persons}?fieldManager=me`, person('a')),
      await server.post(persons, person('b'), { headers: { 'user-agent': 'kubectl/v1.32.5 (linux)' } }),
      await server.post(persons, person('c')),
    ];
    expect(answers.map((answer) => managedFields(answer)?.[0]?.manager)).to.deep.equal(['me', 'kubectl', 'unknown']);
    expect(managedFields(answers[0] as Answer)).to.deep.equal([
      {
        manager: 'me',
        operation: 'Update',
        apiVersion: 'people.example.com/v1alpha1',
        time: '2030-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:spec': { '.': {}, 'f:name': {}, 'f:nick': {} } },
      },
    ]);
  });

  it('list the fields that an update changes, and do not change when an update changes nothing', async () => {
    await server.post(`${persons}?fieldManager=a`, person('bob', { age: 1 }, { labels: { l: '1' } }));
    await clock.advance(1000);
    const changed = await server.put(`${bob}?fieldManager=b`, person('bob', { age: 2 }));
    const entries = managedFields(changed)?.map(({ manager, time, fieldsV1 }) => [manager, time?.slice(-3), fieldsV1]);
    expect(entries).to.deep.equal([
      ['a', '00Z', { 'f:spec': { '.': {}, 'f:name': {}, 'f:nick': {} } }],
      ['b', '01Z', { 'f:spec': { 'f:age': {} } }],
    ]);
    await clock.advance(1000);
    const same = await server.put(`${bob}?fieldManager=c`, person('bob', { age: 2 }));
    expect(same.body).to.deep.equal(changed.body);
  });

  it('have an entry for each subresource', async () => {
    await server.post(`${machines}?fieldManager=a`, newMachine('m', { spec: { power: 1 } }));
    const status = { status: { running: true } };
    const { body } = await server.patch(`${machines}/m/status?fieldManager=a`, status);
    const found = body.metadata.managedFields as Entry[];
    expect(found.map((entry) => [entry.manager, entry.subresource, entry.fieldsV1])).to.deep.equal([
      ['a', undefined, { 'f:spec': { '.': {}, 'f:power': {} } }],
      ['a', 'status', { 'f:status': { '.': {}, 'f:running': {} } }],
    ]);
  });

  it('can be edited by a JSON patch, stay when an update has none, and are cleared by a list of one empty entry', async () => {
    await server.post(`${persons}?fieldManager=a`, person('bob'));
    const fieldsV1 = { 'f:spec': { 'f:name': {} } };
    const entry = { manager: 'x', operation: 'Apply', apiVersion: 'people.example.com/v1alpha1', fieldsV1 };
    const value = [{ ...entry, fieldsType: 'FieldsV1' }];
    const operations = [{ op: 'replace', path: '/metadata/managedFields', value }];
    const edited = await server.patch(bob, operations, { type: 'application/json-patch+json' });
    expect(managedFields(edited)).to.deep.equal(value);
    for (const kept of [{}, { managedFields: [] }]) {
      expect(managedFields(await server.put(bob, person('bob', {}, kept)))).to.deep.equal(value);
    }
    const cleared = await server.patch(bob, { metadata: { managedFields: [{}] } });
    expect(managedFields(cleared)).to.equal(undefined);
    expect(managedFields(await server.patch(bob, { spec: { age: 4 } }))).to.equal(undefined);
  });

  it('name before-first-apply as the manager of existing fields when the first apply finds no managedFields', async () => {
    await server.post(persons, person('bob', { age: 1 }));
    await server.patch(bob, { metadata: { managedFields: [{}] } });
    const conflict = await server.patch(`${bob}?fieldManager=a`, person('bob', { age: 2 }), { type });
    expectRefusal(conflict, {
      reason: 'Conflict',
      message: 'conflict with "before-first-apply" using people.example.com/v1alpha1: .spec.age',
    });
  });

  it('are refused when they are malformed, with the field of each mistake', async () => {
    await server.post(persons, person('bob'));
    const good = { manager: 'x', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} };
    const bad: readonly (readonly [object, string])[] = [
      [{ manager: 'x\n' }, 'manager'],
      [{ manager: 'x'.repeat(129) }, 'manager'],
      [{ operation: 'Delete' }, 'operation'],
      [{ fieldsType: 'FieldsV2' }, 'fieldsType'],
      [{ fieldsV1: { spec: {} } }, 'fieldsV1'],
      [{ fieldsV1: { 'f:spec': 1 } }, 'fieldsV1'],
      [{ fieldsV1: { 'k:{': {} } }, 'fieldsV1'],
      [{ fieldsV1: { 'f:spec': { '.': { 'f:name': {} } } } }, 'fieldsV1'],
      [{ time: 'yesterday' }, 'time'],
      [{ subresource: 's'.repeat(257) }, 'subresource'],
    ];
    for (const [wrong, field] of bad) {
      const answer = await server.put(bob, person('bob', {}, { managedFields: [good, { ...good, ...wrong }] }));
      expectRefusal(answer, { reason: 'Invalid', causes: [`FieldValueInvalid metadata.managedFields[1].${field}`] });
    }
  });

  it('do not change when a DELETE only sets the deletionTimestamp, because the object has finalizers', async () => {
    const created = await server.post(persons, person('bob', {}, { finalizers: ['example.com/f'] }));
    const marked = await server.delete(bob);
    expect(managedFields(marked)).to.deep.equal(managedFields(created));
    await server.patch(bob, { metadata: { finalizers: null } });
  });
});
