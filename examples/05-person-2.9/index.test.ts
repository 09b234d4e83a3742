import { expect } from 'chai';
import { isInvalid } from 'homeostat';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { fileURLToPath } from 'node:url';
import { Person } from './person.ts';

const folder = fileURLToPath(new URL('..', import.meta.url));

describe('example 05: the plugin for revision 2.9 of the specification', () => {
  let server: TestServer;

  before(async () => {
    server = await startTestServer({ plugins: [folder] });
    await server.settle();
  });

  after(async () => server.stop());

  it('creates the persons that its files declare, and counts the acquaintances of each person [spec 2.7-flat, 2.9-shape-2.9, 9-fields-2.9]', async () => {
    const { items } = await server.httpClient.list(Person, { sort: 'metadata.name,asc' });
    expect(items.map(({ metadata, name, age }) => [metadata.name, name, age])).to.deep.equal([
      ['ada', 'Ada Lovelace', 36],
      ['charles', 'Charles Babbage', 79],
    ]);
    expect(items.map(({ status }) => status)).to.deep.equal([
      { acquaintances: 0, observedGeneration: 1 },
      { acquaintances: 2, observedGeneration: 1 },
    ]);
  });

  it('declares no index, and persons can be found by label and by name [spec 9-indexes-2.9]', async () => {
    const labelled = await server.httpClient.list(Person, { labelSelector: 'example.com/field=mathematics' });
    expect(labelled.items.map(({ name }) => name)).to.deep.equal(['Ada Lovelace']);
    const named = await server.httpClient.list(Person, { fieldSelector: 'metadata.name=charles' });
    expect(named.items.map(({ name }) => name)).to.deep.equal(['Charles Babbage']);
  });

  it('counts the acquaintances of a person again when the person changes', async () => {
    const mary = await server.client.create(Person, { metadata: { name: 'mary' }, name: 'Mary' });
    await server.settle();
    await server.client.ensure(Person, mary.metadata.name, { otherPerson: { name: 'Ada' } });
    await server.settle();
    const { status } = await server.client.get(Person, 'mary');
    expect(status).to.deep.equal({ acquaintances: 1, observedGeneration: 2 });
  });

  it('makes the server refuse an age over the maximum, also in a nested person [spec 2.7-flat-constraints]', async () => {
    const patch = { otherPerson: { otherPerson: { age: 969 } } };
    const refused: unknown = await server.httpClient
      .patch(Person, 'ada', { type: 'merge', patch })
      .catch((error: unknown) => error);
    expect(isInvalid(refused)).to.equal(true);
    expect((refused as Error).message).to.include('otherPerson.otherPerson.age: Invalid value: 969');
  });
});
