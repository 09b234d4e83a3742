import { expect } from 'chai';
import { isInvalid, isNotFound } from 'homeostat';
import { eventually, startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { fileURLToPath } from 'node:url';
import { Person } from './person.ts';

const folder = fileURLToPath(new URL('..', import.meta.url));

describe('example 01: Person', () => {
  const lines: string[] = [];
  const log = (_fields: object, message: string): void => void lines.push(message);
  let server: TestServer;

  before(async () => {
    server = await startTestServer({ plugins: [folder], logger: { debug: log, info: log, warn: log, error: log } });
  });

  after(async () => server.stop());

  it('creates the persons that the files of the plugin declare, and greets them [spec 1-declared-objects, 1-desired-and-actual]', async () => {
    await server.settle();
    const { items } = await server.httpClient.list(Person, { sort: 'spec.name,asc' });
    expect(items.map(({ metadata }) => metadata.name)).to.deep.equal(['ada', 'grace']);
    expect(items.map(({ status }) => status?.greeting)).to.deep.equal(['Hello Ada Lovelace', 'Hello Grace Hopper']);
    expect(items[0]?.status).to.include({ phase: 'Greeted', observedGeneration: 1 });
  });

  it('finds persons by an indexed field', async () => {
    const { items } = await server.httpClient.list(Person, { fieldSelector: 'spec.tags=poet' });
    expect(items.map(({ metadata }) => metadata.name)).to.deep.equal(['ada']);
  });

  it('greets a person again when the name changes [spec 4.1-controllers]', async () => {
    await server.client.create(Person, { metadata: { name: 'alan' }, spec: { name: 'Alan' } });
    await server.settle();
    await server.client.patch(Person, 'alan', { type: 'merge', patch: { spec: { name: 'Alan Turing' } } });
    await server.settle();
    const { status } = await server.client.get(Person, 'alan');
    expect(status).to.include({ greeting: 'Hello Alan Turing', observedGeneration: 2 });
  });

  it('says goodbye to a person before the person is deleted', async () => {
    await server.client.create(Person, { metadata: { name: 'blaise' }, spec: { name: 'Blaise' } });
    await server.settle();
    await server.client.delete(Person, 'blaise');
    await eventually(async () =>
      isNotFound(await server.client.get(Person, 'blaise').catch((error: unknown) => error)),
    );
    expect(lines).to.include('Goodbye Blaise');
  });

  it('refuses an age over the maximum', async () => {
    const person = { metadata: { name: 'methuselah' }, spec: { name: 'Methuselah', age: 969 } };
    const refused: unknown = await server.httpClient.create(Person, person).catch((error: unknown) => error);
    expect(isInvalid(refused)).to.equal(true);
    expect((refused as Error).message).to.include('spec.age');
  });
});
