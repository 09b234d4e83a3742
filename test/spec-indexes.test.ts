import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { defineModel, definePlugin, IndexAttributeFactory, IndexSpec } from 'homeostat';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';

const book = defineModel({
  gvk: 'library.example.com/v1/Book',
  plural: 'books',
  singular: 'book',
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['title'],
        properties: {
          title: { type: 'string' },
          pages: { type: 'integer' },
          isbn: { type: 'string' },
          subjects: { type: 'array', items: { type: 'string' } },
        },
      },
    },
  },
});

const { simpleAttribute, multiValueAttribute } = IndexAttributeFactory;

/** A plugin that declares indexes. The index `reversed` has the titles in descending order. */
const library = definePlugin({
  start({ schemeManager }) {
    schemeManager.register(book, (specs) => {
      specs
        .add(new IndexSpec({ name: 'spec.title', indexFunc: simpleAttribute(book, ({ spec }) => spec.title) }))
        .add(
          new IndexSpec({
            name: 'reversed',
            order: 'DESC',
            indexFunc: simpleAttribute(book, ({ spec }) => spec.title),
          }),
        )
        .add(
          new IndexSpec({ name: 'spec.isbn', unique: true, indexFunc: simpleAttribute(book, ({ spec }) => spec.isbn) }),
        )
        .add(
          new IndexSpec({ name: 'thickness', indexFunc: simpleAttribute(book, ({ spec }) => thickness(spec.pages)) }),
        )
        .add(
          new IndexSpec({ name: 'spec.subjects', indexFunc: multiValueAttribute(book, ({ spec }) => spec.subjects) }),
        );
    });
  },
});

/** Returns the number of full hundreds of pages, as a string, because the values of an index are strings. */
function thickness(pages: number | undefined): string | undefined {
  return pages === undefined ? undefined : String(Math.floor(pages / 100));
}

describe('spec: indexes', () => {
  let server: TestServer;

  before(async () => {
    server = await startTestServer({ plugins: [library] });
    for (const [name, spec] of [
      ['b', { title: 'Beta', pages: 120, isbn: '2', subjects: ['sea', 'war'] }],
      ['a', { title: 'Alpha', pages: 180, isbn: '1', subjects: ['war'] }],
      ['c', { title: 'Gamma', pages: 230, isbn: '3' }],
    ] as const) {
      await server.httpClient.create(book, { metadata: { name, labels: { initial: name } }, spec });
    }
  });

  after(() => server.stop());

  async function names(query: string): Promise<string[]> {
    const response = await fetch(`${server.url}/apis/library.example.com/v1/books?${query}`);
    const text = await response.text();
    expect(response.status, text).to.equal(200);
    const { items } = JSON.parse(text) as { items: { metadata: { name: string } }[] };
    return items.map(({ metadata }) => metadata.name);
  }

  async function create(name: string, spec: object): Promise<number> {
    const response = await fetch(`${server.url}/apis/library.example.com/v1/books?dryRun=All`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ apiVersion: 'library.example.com/v1', kind: 'Book', metadata: { name }, spec }),
    });
    await response.text();
    return response.status;
  }

  it('have the order ASC when they declare no order [spec 2.8-order-default]', async () => {
    expect(await names('sort=spec.title')).to.deep.equal(['a', 'b', 'c']);
  });

  it('sort in the order that they declare (ASC or DESC) when the request names no order [spec 2.8-order]', async () => {
    expect(await names('sort=reversed')).to.deep.equal(['c', 'b', 'a']);
    expect(await names('sort=reversed,asc')).to.deep.equal(['a', 'b', 'c']);
    expect(await names('sort=spec.title,desc')).to.deep.equal(['c', 'b', 'a']);
  });

  it('contain the values that their function returns for the object [spec 2.8-index-func, 2.8-simple-attribute]', async () => {
    expect(await names('fieldSelector=thickness%3D1&sort=name,asc')).to.deep.equal(['a', 'b']);
    expect(await names('fieldSelector=thickness%3D2')).to.deep.equal(['c']);
  });

  it('contain each value of a set, and no value of an absent set [spec 2.8-multi-value-attribute, 2.8-absent-set]', async () => {
    expect(await names('fieldSelector=spec.subjects%3Dwar&sort=name,asc')).to.deep.equal(['a', 'b']);
    expect(await names('fieldSelector=spec.subjects%3Dsea')).to.deep.equal(['b']);
    expect(await names('fieldSelector=!spec.subjects')).to.deep.equal(['c']);
  });

  it('refuse an existing value only if they are unique [spec 2.8-unique]', async () => {
    expect(await create('d', { title: 'Delta', isbn: '1' })).to.equal(422);
    expect(await create('d', { title: 'Alpha', isbn: '4' })).to.equal(201);
    expect(await create('d', { title: 'Alpha' })).to.equal(201);
  });

  it('are required: a field without an index cannot be used in selectors and sorts [spec 1-indexed-only, 2.8-before-field-selector, 2.8-before-sort]', async () => {
    for (const query of ['fieldSelector=spec.pages%3D120', 'sort=spec.pages,asc']) {
      const response = await fetch(`${server.url}/apis/library.example.com/v1/books?${query}`);
      expect([response.status, await response.text()].join(' ')).to.match(/^400 .*spec\.pages \(indexed: /);
    }
  });

  it('exist for metadata, although the model does not declare these indexes [spec 2.8-default-name, 2.8-default-labels, 2.8-default-creation-timestamp, 2.8-default-deletion-timestamp]', async () => {
    const { metadata } = await server.client.get(book, 'b');
    expect(await names('fieldSelector=metadata.name%3Db')).to.deep.equal(['b']);
    expect(await names('sort=metadata.name,desc')).to.deep.equal(['c', 'b', 'a']);
    expect(await names('fieldSelector=metadata.labels%3Dinitial%5C%3Da')).to.deep.equal(['a']);
    expect(await names('sort=metadata.labels,asc')).to.deep.equal(['a', 'b', 'c']);
    expect(await names(`fieldSelector=metadata.creationTimestamp%3D${metadata.creationTimestamp}`)).to.include('b');
    expect(await names('sort=metadata.creationTimestamp,asc')).to.have.length(3);
    expect(await names('fieldSelector=metadata.deletionTimestamp')).to.deep.equal([]);
    expect(await names('sort=metadata.deletionTimestamp,asc&fieldSelector=!metadata.deletionTimestamp')).to.have.length(
      3,
    );
  });

  it('are built at every start, also for objects that were stored before the declaration [spec 3-every-start]', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'homeostat-spec-'));
    const database = `sqlite:${join(directory, 'library.db')}`;
    const first = await startTestServer({ database, models: [book] });
    await first.client.create(book, { metadata: { name: 'old' }, spec: { title: 'Omega' } });
    await first.stop();
    const second = await startTestServer({ database, plugins: [library] });
    const { items } = await second.client.list(book, { fieldSelector: 'spec.title=Omega' });
    expect(items.map(({ metadata }) => metadata.name)).to.deep.equal(['old']);
    await second.stop();
    await rm(directory, { recursive: true });
  });
});
