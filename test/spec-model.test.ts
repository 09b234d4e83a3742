import { expect } from 'chai';
import { BasePlugin, definePlugin } from 'homeostat';
import { startTestServer } from 'homeostat/testing';
import { startApiServer } from '@homeostat/apiserver';
import { apiVersion, machine, Person, person, personIndexes, persons } from './support/models/models.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

const version = '/apis/people.example.com/v1alpha1';

describe('spec: a model of a plugin', () => {
  it('is served once start() has registered it, with the indexes that a callback passed to register() declares [spec 1-step-register, 1-step-indexes]', async () => {
    class PeoplePlugin extends BasePlugin {
      override async start(): Promise<void> {
        this.schemeManager.register(Person, personIndexes);
      }
    }
    const server = await startTestServer({ plugins: [PeoplePlugin] });
    await server.httpClient.create(Person, { metadata: { name: 'ann' }, spec: { name: 'Ann' } });
    await server.httpClient.create(Person, { metadata: { name: 'bob' }, spec: { name: 'Bob' } });
    const { items } = await server.httpClient.list(Person, { fieldSelector: 'spec.name=Bob' });
    expect(items.map(({ metadata }) => metadata.name)).to.deep.equal(['bob']);
    await server.stop();
  });

  it("is stored, read and changed by the plugin, with labels under the plugin's own domain [spec 1-plugin-data, 2.5-prefix-domain]", async () => {
    const ages: unknown[] = [];
    const plugin = definePlugin({
      models: [Person],
      async start({ client }) {
        const labels = { 'people.example.com/team': 'red' };
        await client.create(Person, { metadata: { name: 'ann', labels }, spec: { name: 'Ann', age: 30 } });
        ages.push((await client.get(Person, 'ann')).spec.age);
        await client.patch(Person, 'ann', { type: 'merge', patch: { spec: { age: 31 } } });
      },
    });
    const server = await startTestServer({ plugins: [plugin] });
    const answer = (await (await fetch(`${server.url}${persons}/ann`)).json()) as Person;
    expect(ages).to.deep.equal([30]);
    expect(answer.spec.age).to.equal(31);
    expect(answer.metadata.labels).to.deep.equal({ 'people.example.com/team': 'red' });
    await server.stop();
  });

  it('has no endpoints before its registration, and all endpoints afterwards [spec 1-generates-crud]', async () => {
    const server = await startTestServer();
    const url = `${server.url}${persons}`;
    const body = JSON.stringify(person('ann'));
    const statuses = async (): Promise<number[]> => {
      const answers: number[] = [];
      for (const [method, path] of [
        ['GET', ''],
        ['POST', ''],
        ['PUT', '/ann'],
        ['DELETE', '/ann'],
      ] as const) {
        const init = {
          method,
          ...(method.startsWith('P') ? { body, headers: { 'content-type': 'application/json' } } : {}),
        };
        answers.push((await fetch(`${url}${path}`, init)).status);
      }
      return answers;
    };
    expect(await statuses()).to.deep.equal([404, 404, 404, 404]);
    server.server.schemeManager.register(Person);
    await server.server.whenReady({ group: 'people.example.com', version: 'v1alpha1', kind: 'Person' });
    expect(await statuses()).to.deep.equal([200, 201, 200, 200]);
    await server.stop();
  });

  it('may have no indexes: clients can still page a list, select by labels, and select and sort by metadata.name [spec 2.8-default-name, 2.8-default-labels]', async () => {
    const server = await startTestServer({ models: [machine] });
    for (const name of ['a', 'b', 'c']) {
      await server.httpClient.create(machine, { metadata: { name, labels: { odd: String(name !== 'b') } } });
    }
    const found = await server.httpClient.list(machine, {
      sort: 'metadata.name,desc',
      labelSelector: 'odd=true',
      fieldSelector: 'metadata.name!=a',
      page: 1,
      size: 2,
    });
    expect(found.items.map(({ metadata }) => metadata.name)).to.deep.equal(['c']);
    expect(found.total).to.equal(1);
    await server.stop();
  });

  it('is served on 127.0.0.1 by default; a server with the host 0.0.0.0 and no other settings refuses to start [spec 2.1-exposed]', async () => {
    const server = await TestServer.start();
    expect(new URL(server.api.url).hostname).to.equal('127.0.0.1');
    await server.stop();
    const refusal: unknown = await startApiServer({ database: 'memory:', port: 0, host: '0.0.0.0' }).catch(
      (error: unknown) => error,
    );
    expect(refusal).to.be.an('error').with.property('message').that.includes('loopback addresses only');
  });
});

describe('spec: the names of a model', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
    await server.create(persons, person('ann'));
  });

  after(() => server.stop());

  it('describe the kind like the names of a CustomResourceDefinition [spec 1-crd-shape]', async () => {
    const { body } = await server.get(version);
    expect(body).to.include({ kind: 'APIResourceList', groupVersion: apiVersion });
    const found = body.resources.find(({ name }: { name: string }) => name === 'persons');
    expect(found).to.include({ singularName: 'person', kind: 'Person', namespaced: false });
    expect(found.verbs).to.include.members(['create', 'delete', 'get', 'list', 'patch', 'update', 'watch']);
  });

  it('are the apiVersion and kind of each object, also in a list [spec 2.1-version, 2.2-api-version, 2.2-kind, 9-api-version]', async () => {
    const one = (await server.get(`${persons}/ann`)).body;
    const [listed] = (await server.get(persons)).body.items;
    for (const object of [one, listed]) {
      expect(object).to.include({ apiVersion: 'people.example.com/v1alpha1', kind: 'Person' });
    }
  });

  it('determine the path of the kind: group, version and plural [spec 2.1-plural-path, 4.1-path, 9-paths]', async () => {
    expect((await server.get(`${version}/persons/ann`)).status).to.equal(200);
    expect((await server.get(`${version}/persons/ann/status`)).status).to.equal(200);
    for (const path of [
      '/apis/people.example.com/v1/persons',
      '/apis/people.example.com/v1alpha2/persons/ann',
      '/apis/people.example.com/persons',
      '/apis/example.com/v1alpha1/persons',
      `${version}/person`,
      `${version}/Person/ann`,
      `${version}/persons/ann/spec`,
    ]) {
      expectRefusal(await server.get(path), { reason: 'NotFound' });
    }
  });
});

describe('spec: the fields of Person', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  after(() => server.stop());

  const nested = (spec: object): Record<string, unknown> => person('someone', spec);

  it('may be absent, except the required fields [spec 2.6-required]', async () => {
    expect((await server.post(persons, { ...person('bare'), spec: { name: 'B' } })).status).to.equal(201);
  });

  it('accept values within their constraints [spec 2.7-name, 2.7-age, 2.7-gender]', async () => {
    for (const [i, spec] of [
      { name: '', age: 0, gender: 'MALE' },
      { name: 'x'.repeat(100), age: 150, gender: 'FEMALE' },
    ].entries()) {
      const { body } = await server.post(persons, person(`fits-${i}`, spec));
      expect(body.spec).to.deep.include(spec);
    }
  });

  it('refuse a name that is not a string, or is too long [spec 2.7-name]', async () => {
    for (const [name, cause] of [
      [7, 'FieldValueTypeInvalid spec.name'],
      ['x'.repeat(101), 'FieldValueTooLong spec.name'],
    ] as const) {
      expectRefusal(await server.post(persons, person('bad', { name })), { reason: 'Invalid', causes: [cause] });
    }
  });

  it('may have nested Persons, and errors in these have the full path [spec 2.7-other-person]', async () => {
    const deep = (age: number): object => person('deep', { otherPerson: nested({ otherPerson: nested({ age }) }) });
    expect((await server.post(persons, deep(150))).status).to.equal(201);
    const causes = ['FieldValueInvalid spec.otherPerson.spec.otherPerson.spec.age'];
    expectRefusal(await server.put(`${persons}/deep`, deep(151)), { reason: 'Invalid', causes });
    const { body } = await server.get(`${persons}/deep`);
    expect(body.spec.otherPerson.spec.otherPerson.spec.age).to.equal(150);
  });
});
