import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { demoPerson, demoPersons, newDemoPerson } from './support/models/demo-person.ts';
import { machines, newMachine } from './support/models/models.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const oldTable = 'application/json;as=Table;v=v1beta1;g=meta.k8s.io';
/** The Accept header of kubectl. */
const kubectlTable = `${table},${oldTable},application/json`;
const partial = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const partialList = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const minuteMs = 60_000;

describe('tables and objects with only metadata, requested by Accept', () => {
  const clock = new FakeClock();
  let server: TestServer;

  before(async () => {
    server = await TestServer.start({ clock });
    server.api.schemeManager.register(demoPerson);
    await server.api.whenReady(demoPerson);
    await server.create(demoPersons, newDemoPerson('ann', { age: 30, gender: 'FEMALE' }, { labels: { team: 'red' } }));
    await clock.advance(3 * minuteMs);
    await server.create(demoPersons, newDemoPerson('bob', { age: 40 }));
    const status = {
      conditions: [
        { type: 'Done', status: 'x' },
        { type: 'Ready', status: 'True' },
      ],
    };
    await server.patch(`${demoPersons}/bob/status`, { status });
    await server.create(machines, newMachine('mill'));
    await clock.advance(20_000);
  });

  after(() => server.stop());

  function ask(path: string, accept: string): Promise<Answer> {
    return server.get(path, { accept });
  }

  function namesOf({ body }: Answer): readonly string[] {
    return body.columnDefinitions.map((column: { name: string }) => column.name);
  }

  describe('a Table [compat tables]', () => {
    it('of a list has a row for each object, cells for the columns of the model, and ages by the clock of the server', async () => {
      const answer = await ask(`${demoPersons}?limit=500`, kubectlTable);
      const { status, headers, body } = answer;
      expect([status, headers['content-type']]).to.deep.equal([200, 'application/json']);
      expect([body.kind, body.apiVersion]).to.deep.equal(['Table', 'meta.k8s.io/v1']);
      expect(body.metadata.resourceVersion).to.equal(await server.revision(demoPersons));
      expect(namesOf(answer)).to.deep.equal(['Name', 'Age', 'Gender', 'Ready', 'Created']);
      expect(body.columnDefinitions[0]).to.include({ type: 'string', format: 'name', priority: 0 });
      expect(body.columnDefinitions[1]).to.deep.equal({
        name: 'Age',
        type: 'integer',
        format: '',
        description: 'Age in years',
        priority: 0,
      });
      expect(body.columnDefinitions[2]).to.include({ priority: 1 });
      expect(body.rows.map(({ cells }: { cells: unknown }) => cells)).to.deep.equal([
        ['bob', 40, null, 'True', '20s'],
        ['ann', 30, 'FEMALE', null, '3m20s'],
      ]);
    });

    it('has in each row the metadata, the whole object or nothing, as includeObject says', async () => {
      const stored = (await server.get(`${demoPersons}/ann`)).body;
      const { metadata } = stored;
      const alone = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };
      const included: readonly (readonly [query: string, object: unknown])[] = [
        ['', alone],
        ['includeObject=Metadata', alone],
        ['includeObject=Object', stored],
        ['includeObject=None', null],
      ];
      for (const [query, object] of included) {
        const { body } = await ask(`${demoPersons}?fieldSelector=metadata.name=ann&${query}`, table);
        expect(body.rows, query).to.have.length(1);
        expect(body.rows[0].object, query).to.deep.equal(object);
      }
      for (const value of ['Foo', 'object', '__proto__']) {
        const answer = await ask(`${demoPersons}?includeObject=${value}`, table);
        expectRefusal(answer, { reason: 'BadRequest', message: 'includeObject' });
      }
      expect((await server.get(`${demoPersons}?includeObject=Foo`)).status).to.equal(200);
    });

    it('of one object has one row, and the revision of the object', async () => {
      const { body } = await ask(`${demoPersons}/ann`, table);
      expect(body.rows).to.have.length(1);
      expect(body.rows[0].cells[0]).to.equal('ann');
      expect(body.metadata).to.deep.equal({ resourceVersion: body.rows[0].object.metadata.resourceVersion });
      expect((await ask(`${demoPersons}/ann/status`, table)).body.rows[0].cells[0]).to.equal('ann');
    });

    it('of a chunk has the token for the next chunk', async () => {
      const first = (await ask(`${demoPersons}?limit=1`, table)).body;
      expect(first.metadata).to.include.keys('continue').and.include({ remainingItemCount: 1 });
      const next = `${demoPersons}?limit=1&continue=${encodeURIComponent(first.metadata.continue)}`;
      const second = (await ask(next, table)).body;
      expect(second.rows[0].cells[0]).to.equal('ann');
      expect(second.metadata).to.deep.equal({ resourceVersion: first.metadata.resourceVersion });
    });

    it('of a page has the number of the page, and the total number of objects', async () => {
      const { body } = await ask(`${demoPersons}?page=2&size=1&sort=name,asc`, table);
      expect(body).to.include({ kind: 'Table', page: 2, size: 1, total: 2, hasPrevious: true });
      expect(body.rows).to.have.length(1);
      expect(body).not.to.have.property('items');
    });

    it('of an empty list has columns and no rows', async () => {
      const { body } = await ask(`${demoPersons}?labelSelector=team=none`, table);
      expect(body.rows).to.deep.equal([]);
      expect(body.columnDefinitions).to.have.length(5);
    });

    it('has Name and Age when the model declares no columns', async () => {
      const answer = await ask(machines, table);
      expect(namesOf(answer)).to.deep.equal(['Name', 'Age']);
      expect(answer.body.rows[0].cells).to.deep.equal(['mill', '20s']);
    });

    it('has the version of meta.k8s.io that the client accepts', async () => {
      const { body } = await ask(`${demoPersons}/ann`, `${oldTable},application/json`);
      expect(body.apiVersion).to.equal('meta.k8s.io/v1beta1');
      expect(body.rows[0].object.apiVersion).to.equal('meta.k8s.io/v1beta1');
    });

    it('is the response to a write and to the deletion of a collection; other deletions and errors get a Status', async () => {
      const headers = { accept: table };
      const created = await server.post(demoPersons, newDemoPerson('cat'), { headers });
      expect([created.status, created.body.kind, created.body.rows[0].cells[4]]).to.deep.equal([201, 'Table', '0s']);
      const patched = await server.patch(`${demoPersons}/cat`, { spec: { age: 3 } }, { headers });
      expect(patched.body.rows[0].cells[1]).to.equal(3);
      const selected = await server.delete(`${demoPersons}?labelSelector=team=none`, { headers });
      expect([selected.body.kind, selected.body.rows]).to.deep.equal(['Table', []]);
      expect((await server.delete(`${demoPersons}/cat`, { headers })).body).to.include({
        kind: 'Status',
        status: 'Success',
      });
      expectRefusal(await ask(`${demoPersons}/cat`, table), { reason: 'NotFound' });
    });
  });

  describe('PartialObjectMetadata [compat metadata-alone]', () => {
    it('is the metadata of an object', async () => {
      const { metadata } = (await server.get(`${demoPersons}/ann`)).body;
      const { body } = await ask(`${demoPersons}/ann`, partial);
      expect(body).to.deep.equal({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata });
    });

    it('of a list is a PartialObjectMetadataList, as metadata informers request it', async () => {
      const accept = `application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,${partialList},application/json`;
      const { body } = await ask(`${demoPersons}?limit=1`, accept);
      expect(body).to.include({ kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' });
      expect(body.metadata).to.include.keys('resourceVersion', 'continue');
      expect(body.items).to.have.length(1);
      expect(body.items[0]).to.have.all.keys('kind', 'apiVersion', 'metadata');
      const old = await ask(demoPersons, partialList.replace('v1', 'v1beta1'));
      expect(old.body.items[0].apiVersion).to.equal('meta.k8s.io/v1beta1');
    });
  });

  describe('Accept', () => {
    it('without an available media type is refused with 406 before the request has an effect', async () => {
      const foo = 'application/json;as=Foo;g=meta.k8s.io;v=v1';
      const cases: readonly (readonly [path: string, accept: string])[] = [
        [demoPersons, foo],
        [`${demoPersons}/ann`, foo],
        [demoPersons, partial],
        [`${demoPersons}/ann`, partialList],
        [`${demoPersons}?watch=true`, partialList],
        [demoPersons, 'application/json;as=Table;v=v2;g=meta.k8s.io'],
        [demoPersons, 'application/yaml;as=Table;v=v1;g=meta.k8s.io'],
      ];
      for (const [path, accept] of cases) expectRefusal(await ask(path, accept), { reason: 'NotAcceptable' });
      const post = await server.post(demoPersons, newDemoPerson('dan'), { headers: { accept: foo } });
      expectRefusal(post, { reason: 'NotAcceptable' });
      expectRefusal(await server.get(`${demoPersons}/dan`), { reason: 'NotFound' });
    });

    it('selects the available media type with the highest q, and the first of several with the same q', async () => {
      expect((await ask(demoPersons, `application/json;as=Foo;g=x;v=v1,${table}`)).body.kind).to.equal('Table');
      expect((await ask(demoPersons, `${partial},application/json`)).body.kind).to.equal('PersonList');
      expect((await ask(demoPersons, `${table};q=0.5,application/json`)).body.kind).to.equal('PersonList');
    });
  });

  describe('a watch', () => {
    it('of a Table has the columns only in its first event', async () => {
      const watch = await server.watch(`${demoPersons}?watch=true`, { accept: kubectlTable });
      await watch.count(2);
      await server.patch(`${demoPersons}/ann`, { spec: { age: 31 } });
      const [first, second, third] = await watch.count(3);
      expect(watch.headers['content-type']).to.equal('application/json');
      expect([first, second, third].map((event) => event?.type)).to.deep.equal(['ADDED', 'ADDED', 'MODIFIED']);
      for (const event of [first, second, third]) expect(event?.object.kind).to.equal('Table');
      expect(first?.object.columnDefinitions).to.have.length(5);
      expect(second?.object.columnDefinitions).to.equal(null);
      expect(third?.object.columnDefinitions).to.equal(null);
      expect(third?.object.rows[0].cells.slice(0, 2)).to.deep.equal(['ann', 31]);
      expect(third?.object.metadata.resourceVersion).to.equal(third?.object.rows[0].object.metadata.resourceVersion);
    });

    it('of metadata sends objects and bookmarks as PartialObjectMetadata', async () => {
      const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
      const watch = await server.watch(`${demoPersons}?${query}`, { accept: partial });
      const events = await watch.count(3);
      expect(events.map(({ type }) => type)).to.deep.equal(['ADDED', 'ADDED', 'BOOKMARK']);
      for (const { object } of events) expect(object).to.have.all.keys('kind', 'apiVersion', 'metadata');
      const bookmark = events[2]?.object;
      expect(bookmark.kind).to.equal('PartialObjectMetadata');
      expect(bookmark.metadata.annotations).to.deep.equal({ 'k8s.io/initial-events-end': 'true' });
      const tables = await server.watch(`${demoPersons}?${query}&labelSelector=team=none`, { accept: table });
      const [only] = await tables.count(1);
      expect(only?.type).to.equal('BOOKMARK');
      expect(only?.object.rows[0].object.metadata.annotations).to.deep.equal({ 'k8s.io/initial-events-end': 'true' });
      expect(only?.object.rows[0].cells[0]).to.equal('');
    });

    it('of a Table ends with a Status when its kind is unregistered', async () => {
      const watch = await server.watch(`${demoPersons}?watch=true`, { accept: table });
      await watch.count(2);
      server.api.schemeManager.unregister(demoPerson, 'service');
      const last = (await watch.end()).at(-1);
      expect([last?.type, last?.object.kind, last?.object.code]).to.deep.equal(['ERROR', 'Status', 410]);
    });
  });
});
