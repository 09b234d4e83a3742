import { expect } from 'chai';
import { controller } from 'homeostat';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { eventually } from '@homeostat/controller-runtime/testing';
import { Contact } from './support/models/contact.ts';

const contacts = '/apis/contacts.example.com/v1/contacts';
const envelope = { apiVersion: 'contacts.example.com/v1', kind: 'Contact' };

interface Answer {
  readonly status: number;
  readonly warning: string | null;
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of a response; tests read every part of it
  readonly body: any;
}

describe('objects whose fields are at the top level (revision 2.9)', () => {
  const seen: string[] = [];
  let server: TestServer;

  before(async () => {
    const greet = controller(Contact, {
      async reconcile({ object, status }) {
        seen.push(`${object.metadata.name} ${object.metadata.generation}`);
        await status({ greeting: `Hello ${object.name}` });
      },
    });
    server = await startTestServer({ models: [Contact], controllers: [greet] });
  });

  after(async () => server.stop());

  afterEach(async () => {
    await fetch(server.url + contacts, { method: 'DELETE' });
    await server.settle();
  });

  async function send(method: string, path: string, body?: object, type = 'application/json'): Promise<Answer> {
    const response = await fetch(`${server.url}${contacts}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': type } }),
    });
    return { status: response.status, warning: response.headers.get('warning'), body: await response.json() };
  }

  async function create(name: string, fields: object = {}, metadata: object = {}): Promise<Answer> {
    return send('POST', '', { ...envelope, metadata: { name, ...metadata }, name, ...fields });
  }

  const mergePatch = (path: string, patch: object): Promise<Answer> =>
    send('PATCH', path, patch, 'application/merge-patch+json');
  const names = ({ body }: Answer): readonly string[] =>
    body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);

  it('get defaults, lose unknown fields with a warning, and have no spec [spec 9-fields-2.9]', async () => {
    const { status, warning, body } = await create('ann', { card: {}, nick: 'A', spec: { name: 'x' } });
    expect(status).to.equal(201);
    const { metadata: _metadata, ...fields } = body;
    expect(fields).to.deep.equal({ ...envelope, name: 'ann', language: 'en', card: { country: 'CH' } });
    expect(warning).to.include('unknown field \\"nick\\"').and.include('unknown field \\"spec\\"');
  });

  it('that break the schema are refused; the response names each wrong field, also three levels deep [spec 2.7-flat-constraints]', async () => {
    const deep = { otherContact: { name: 'b', otherContact: { age: 151, card: { street: 1 } } } };
    const { status, body } = await create('ann', { name: 'x'.repeat(101), age: -1, gender: 'X', ...deep });
    expect(status).to.equal(422);
    expect(
      body.details.causes.map(({ field, reason }: Record<string, string>) => `${reason} ${field}`),
    ).to.have.members([
      'FieldValueTooLong name',
      'FieldValueInvalid age',
      'FieldValueNotSupported gender',
      'FieldValueRequired otherContact.otherContact.name',
      'FieldValueInvalid otherContact.otherContact.age',
      'FieldValueTypeInvalid otherContact.otherContact.card.street',
    ]);
    expect((await send('POST', '', { ...envelope, metadata: { name: 'x' } })).body.details.causes).to.deep.equal([
      { reason: 'FieldValueRequired', message: 'Required value', field: 'name' },
    ]);
  });

  it('can be listed with pages, sorts, label selectors and the four default indexes [spec 9-indexes-2.9]', async () => {
    for (const [name, team] of [
      ['ann', 'x'],
      ['bob', 'y'],
      ['cid', 'x'],
    ] as const)
      await create(name, {}, { labels: { 'example.com/team': team } });
    const list = async (query: string): Promise<readonly string[]> => names(await send('GET', `?${query}`));
    expect(await list('sort=name,desc')).to.deep.equal(['cid', 'bob', 'ann']);
    expect(await list('sort=metadata.name,desc&page=2&size=2')).to.deep.equal(['ann']);
    expect(await list('labelSelector=example.com/team=x&sort=name,asc')).to.deep.equal(['ann', 'cid']);
    expect(await list('fieldSelector=metadata.name=(ann,bob)&sort=name,asc')).to.deep.equal(['ann', 'bob']);
    expect(await list('fieldSelector=metadata.labels=example.com/team%5C%3Dy')).to.deep.equal(['bob']);
    expect(await list('sort=metadata.creationTimestamp,asc')).to.have.length(3);
    expect(await list('fieldSelector=metadata.deletionTimestamp=x')).to.deep.equal([]);
    const { body } = await send('GET', '?size=2');
    expect(body).to.include({ page: 1, size: 2, total: 3, totalPages: 2, hasNext: true });
    const refused = await send('GET', '?fieldSelector=age=3');
    expect(refused.status).to.equal(400);
    expect(refused.body.message).to.include('metadata.creationTimestamp');
  });

  it('have a generation that increases when fields change, but not when metadata or status change', async () => {
    await create('ann');
    await server.settle();
    const generation = async (): Promise<number> => (await send('GET', '/ann')).body.metadata.generation as number;
    await mergePatch('/ann', { metadata: { labels: { 'example.com/a': 'b' } } });
    await mergePatch('/ann/status', { status: { greeting: 'x' } });
    expect(await generation()).to.equal(1);
    await mergePatch('/ann', { age: 30 });
    expect(await generation()).to.equal(2);
    await server.settle();
    expect((await send('GET', '/ann')).body.status).to.deep.equal({ greeting: 'Hello ann', observedGeneration: 2 });
  });

  it('keep their status in a PUT without status, and their fields in a PUT to /status', async () => {
    const { body: ann } = await create('ann', { age: 3 });
    await server.settle();
    const put = await send('PUT', '/ann', { ...envelope, metadata: { name: 'ann' }, name: 'ann', age: 4 });
    expect(put.body).to.deep.include({ age: 4, status: { greeting: 'Hello ann', observedGeneration: 1 } });
    const status = await send('PUT', '/ann/status', { ...ann, metadata: { name: 'ann' }, age: 9, status: {} });
    expect(status.body).to.deep.include({ age: 4, status: {} });
  });

  it('can be changed by merge patches and JSON patches; the server prunes and validates the patched object', async () => {
    await create('ann', { card: { street: 'A' } });
    const json = await send(
      'PATCH',
      '/ann',
      [
        { op: 'test', path: '/card/street', value: 'A' },
        { op: 'replace', path: '/card/street', value: 'B' },
        { op: 'add', path: '/otherContact', value: { name: 'bob', nick: 'x' } },
      ],
      'application/json-patch+json',
    );
    expect(json.body).to.deep.include({ card: { street: 'B', country: 'CH' } });
    expect(json.body.otherContact).to.deep.equal({ name: 'bob', language: 'en' });
    expect(json.warning).to.include('otherContact.nick');
    const refused = await mergePatch('/ann', { age: 151 });
    expect(refused.status).to.equal(422);
    expect(refused.body.details.causes[0].field).to.equal('age');
    expect((await mergePatch('/ann', { card: null, language: null })).body)
      .to.include({ language: 'en' })
      .and.not.have.property('card');
  });

  for (const [where, clientOf] of [
    ['in process', (): TestServer['client'] => server.client],
    ['over HTTP', (): TestServer['client'] => server.httpClient],
  ] as const) {
    it(`can be ensured, updated and followed by a client ${where}`, async () => {
      const client = clientOf();
      const stop = new AbortController();
      const informer = client.informer(Contact);
      const running = informer.run(stop.signal);
      const made = await client.ensure(Contact, 'ann', { name: 'Ann', age: 3 });
      expect(made).to.include({ name: 'Ann', age: 3, language: 'en' });
      await server.settle();
      const before = await client.get(Contact, 'ann');
      const same = await client.ensure(Contact, 'ann', { age: 3 });
      expect(same.metadata.version).to.equal(before.metadata.version);
      const updated = await client.update(Object.assign(structuredClone(before), { age: 4 }));
      expect(updated.metadata.generation).to.equal(2);
      await server.settle();
      const settled = await client.get(Contact, 'ann');
      const told = await client.updateStatus(settled, { greeting: 'Hi' });
      expect(told).to.deep.include({ age: 4, status: { greeting: 'Hi' } });
      await eventually(() => informer.get({ name: 'ann' })?.age === 4);
      stop.abort();
      await running;
      expect(seen).to.include('ann 2');
    });
  }
});
