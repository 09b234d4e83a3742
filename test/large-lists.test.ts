import { expect } from 'chai';
import { eventually } from '@homeostat/controller-runtime/testing';
import { load } from 'js-yaml';
import { letters, newLetter } from './support/models/models.ts';
import { TestServer } from './support/servers/test-server.ts';

const count = 4_200;
const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';
const metadataAlone = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const inDefault = letters.replace('/letters', '/namespaces/default/letters');

/**
 * A field selector for objects with a weight of 7 or more. It has so many requirements that the server needs several
 * turns of the event loop.
 */
const manyRequirements = Array.from({ length: 100 }, (_, index) => `spec.weight!=${index < 7 ? index : index + 1000}`);
const query = `fieldSelector=${manyRequirements.join(',')}&sort=name`;

interface Item {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly weight: number };
}

const nameOf = ({ metadata }: Item): string => metadata.name;

describe('large lists [slow]', () => {
  let server: TestServer;
  let items: readonly Item[];

  before(async () => {
    server = await TestServer.start();
    const client = server.api.client;
    const models = server.api.schemeManager.lookup({
      group: 'people.example.com',
      version: 'v1alpha1',
      kind: 'Letter',
    });
    const model = models!.descriptor;
    const letter = (number: number): never => {
      const spec = { text: `${number} ${'"long", text: '.repeat(number % 20)}`, weight: number % 10 };
      const { metadata, ...fields } = newLetter(`letter-${number}`, spec);
      return { metadata: { ...(metadata as object), namespace: 'default' }, ...fields } as never;
    };
    await Promise.all(Array.from({ length: count }, (_, number) => client.create(model, letter(number))));
    items = (await server.get(`${letters}?sort=name`)).body.items as readonly Item[];
  });

  after(() => server.stop());

  it('have all objects', () => {
    expect(items).to.have.length(count);
  });

  it('are equal in YAML and JSON [slow]', async () => {
    const [json, yaml] = await Promise.all([
      server.get(`${letters}?sort=name`),
      server.get(`${letters}?sort=name`, { accept: 'application/yaml' }),
    ]);
    expect(yaml.headers['content-type']).to.equal('application/yaml');
    expect(load(yaml.text)).to.deep.equal(json.body);
  });

  it('are equal in YAML and JSON when a selector matches no object or a few objects', async () => {
    for (const selected of ['spec.weight=99', 'metadata.name=letter-7', 'metadata.name in (letter-7,letter-8)']) {
      const path = `${letters}?fieldSelector=${encodeURIComponent(selected)}`;
      const [json, yaml] = await Promise.all([server.get(path), server.get(path, { accept: 'application/yaml' })]);
      expect(load(yaml.text), selected).to.deep.equal(json.body);
    }
  });

  it('contain a table row or the metadata for each object, depending on the Accept header', async () => {
    const names = items.map(nameOf);
    const { rows } = (await server.get(`${letters}?sort=name`, { accept: table })).body;
    expect(rows.map(({ cells }: { readonly cells: readonly unknown[] }) => cells[0])).to.deep.equal(names);
    const { body } = await server.get(`${letters}?sort=name`, { accept: metadataAlone });
    expect(body.kind).to.equal('PartialObjectMetadataList');
    expect(body.items.map(nameOf)).to.deep.equal(names);
  });

  it('select objects by many requirements, also in pages', async () => {
    const wanted = items.filter(({ spec }) => spec.weight >= 7).map(nameOf);
    const { body } = await server.get(`${letters}?${query}`);
    expect(body.items.map(nameOf)).to.deep.equal(wanted);
    expect(body.total).to.equal(wanted.length);
    const page = await server.get(`${inDefault}?${query}&page=3&size=100`);
    expect(page.body.items.map(nameOf)).to.deep.equal(wanted.slice(200, 300));
    expect(page.body.total).to.equal(wanted.length);
  });

  it('select objects by many requirements at one revision, also in chunks', async () => {
    const wanted = items.filter(({ spec }) => spec.weight >= 7).map(nameOf);
    const found: string[] = [];
    let token = '';
    do {
      const { body } = await server.get(`${letters}?${query}&limit=500&continue=${token}`);
      found.push(...(body.items as readonly Item[]).map(nameOf));
      token = (body.metadata.continue as string | undefined) ?? '';
      // The selector no longer selects this object, but the next chunk must contain it, because all chunks have one
      // revision.
      const next = wanted[found.length];
      if (next !== undefined) await server.patch(`${inDefault}/${next}`, { spec: { weight: 3 } });
    } while (token !== '');
    expect(found).to.deep.equal(wanted);
  });

  it('are sent at the beginning of a watch whose field selector has many requirements; the watch then sends the changes', async () => {
    const selected = (await server.get(`${letters}?${query}`)).body.items as readonly Item[];
    const watch = await server.watch(`${letters}?watch=true&${query.replace('&sort=name', '')}`);
    await eventually(() => expect(watch.events).to.have.length(selected.length));
    expect(new Set(watch.events.map(({ type }) => type))).to.deep.equal(new Set(['ADDED']));
    const names = watch.events.map(({ object }) => nameOf(object as Item));
    expect(names.sort()).to.deep.equal(selected.map(nameOf).sort());
    await server.patch(`${inDefault}/letter-0`, { spec: { weight: 9 } });
    await eventually(() => expect(watch.events).to.have.length(selected.length + 1));
    expect(watch.events.at(-1)?.object).to.have.nested.property('metadata.name', 'letter-0');
  });

  it('are the response to a DELETE of a collection, with every deleted object [slow]', async () => {
    const { status, text } = await server.delete(inDefault);
    expect(status).to.equal(200);
    expect((JSON.parse(text) as { readonly items: readonly unknown[] }).items).to.have.length(count);
  });
});
