import { silentLogger } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { gadget, gadgetsV1, gadgetsV2, newGadgetV1, newGadgetV2 } from './support/models/gadget-versions.ts';
import { TestServer } from './support/servers/test-server.ts';

const table = { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
const applyType = 'application/apply-patch+yaml';

describe('a kind in several versions', () => {
  let server: TestServer;
  const warnings: unknown[] = [];

  before(async () => {
    server = await TestServer.start({ logger: { ...silentLogger, warn: (...line) => void warnings.push(line) } });
    server.api.schemeManager.register(gadget);
    await server.api.whenReady(gadget);
  });

  after(() => server.stop());

  beforeEach(async () => {
    expect((await server.delete(gadgetsV2)).status).to.equal(200);
  });

  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of a request or response
  const read = async (path: string): Promise<any> => (await server.get(path)).body;
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of a request or response
  const namesIn = (list: any): string[] => list.items.map((item: any) => item.metadata.name);

  describe('when it is read', () => {
    it('returns an object in each version, whatever version created it, with the same uid, version, generation and revision', async () => {
      const created = await server.create(gadgetsV1, newGadgetV1('a', { extent: '4 cm', code: 'x' }));
      const [v1, v2] = [await read(`${gadgetsV1}/a`), await read(`${gadgetsV2}/a`)];
      expect(v1).to.deep.equal(created);
      expect([v1.apiVersion, v1.spec]).to.deep.equal([
        'shop.example.com/v1',
        { extent: '4 cm', code: 'x', colour: 'red' },
      ]);
      expect([v2.apiVersion, v2.spec]).to.deep.equal(['shop.example.com/v2', { size: 4, unit: 'cm', code: 'x' }]);
      expect(v2.metadata.annotations).to.deep.equal({ 'shop.example.com/colour': 'red' });
      for (const field of ['name', 'uid', 'version', 'generation', 'resourceVersion', 'creationTimestamp'])
        expect(v1.metadata[field], field).to.equal(v2.metadata[field]);
    });

    it('fills in the defaults of the requested version', async () => {
      await server.create(gadgetsV2, newGadgetV2('a'));
      expect((await read(`${gadgetsV1}/a`)).spec).to.deep.equal({ extent: '3 mm', colour: 'red' });
    });

    it('returns lists in the requested version, also when they are paged, or sorted or selected by stored fields', async () => {
      for (const size of [1, 2, 3])
        await server.create(gadgetsV2, newGadgetV2(`g${size}`, { size }, { labels: { of: String(size % 2) } }));
      const sorted = await read(`${gadgetsV1}?sort=spec.size,desc&size=2`);
      expect([sorted.apiVersion, sorted.total]).to.deep.equal(['shop.example.com/v1', 3]);
      expect(sorted.items.map((item: { spec: { extent: string } }) => item.spec.extent)).to.deep.equal([
        '3 mm',
        '2 mm',
      ]);
      expect(namesIn(await read(`${gadgetsV1}?fieldSelector=spec.size%3D2`))).to.deep.equal(['g2']);
      expect(namesIn(await read(`${gadgetsV1}?labelSelector=of%3D1&sort=name,asc`))).to.deep.equal(['g1', 'g3']);
      const chunk = await read(`${gadgetsV1}?limit=2&sort=name,asc`);
      const rest = await read(`${gadgetsV1}?limit=2&sort=name,asc&continue=${chunk.metadata.continue}`);
      expect([...namesIn(chunk), ...namesIn(rest)]).to.deep.equal(['g1', 'g2', 'g3']);
      expect(rest.items[0].spec.extent).to.equal('3 mm');
    });

    it('returns a former revision in the requested version', async () => {
      await server.create(gadgetsV2, newGadgetV2('a'));
      const revision = await server.revision(gadgetsV2);
      await server.patch(`${gadgetsV2}/a`, { spec: { size: 9 } });
      const then = await read(`${gadgetsV1}?resourceVersion=${revision}&resourceVersionMatch=Exact`);
      expect(then.items[0].spec.extent).to.equal('3 mm');
    });

    it('returns tables with the columns of the requested version', async () => {
      await server.create(gadgetsV2, newGadgetV2('a'));
      const cells = async (path: string): Promise<unknown> => {
        const { body } = await server.get(path, table);
        return [body.columnDefinitions.map(({ name }: { name: string }) => name), body.rows[0].cells];
      };
      expect(await cells(gadgetsV1)).to.deep.equal([
        ['Name', 'Extent'],
        ['a', '3 mm'],
      ]);
      expect(await cells(`${gadgetsV2}/a`)).to.deep.equal([
        ['Name', 'Size'],
        ['a', 3],
      ]);
    });

    it('sends a warning for a deprecated version, and the warning names the preferred version', async () => {
      const warning = '299 - "shop.example.com/v1 Gadget is deprecated; use shop.example.com/v2 Gadget"';
      expect((await server.get(gadgetsV1)).headers['warning']).to.equal(warning);
      expect((await server.post(gadgetsV1, newGadgetV1('a'))).headers['warning']).to.equal(warning);
      expect((await server.get(gadgetsV2)).headers['warning']).to.equal(undefined);
    });
  });

  describe('when it is watched', () => {
    it('sends all writes to the watchers of each version, in their version', async () => {
      const from = `watch=true&resourceVersion=${await server.revision(gadgetsV2)}`;
      const [v1, v2] = [await server.watch(`${gadgetsV1}?${from}`), await server.watch(`${gadgetsV2}?${from}`)];
      await server.create(gadgetsV1, newGadgetV1('a'));
      await server.patch(`${gadgetsV2}/a`, { spec: { size: 5 } });
      await server.delete(`${gadgetsV1}/a`);
      for (const watch of [v1, v2]) {
        await watch.count(3);
        expect(watch.summary).to.deep.equal(['ADDED a', 'MODIFIED a', 'DELETED a']);
      }
      const specs = (watch: typeof v1): unknown[] => watch.events.map(({ object }) => object.spec);
      expect(specs(v1)).to.deep.equal(['3 cm', '5 cm', '5 cm'].map((extent) => ({ extent, colour: 'red' })));
      expect(specs(v2)).to.deep.equal([3, 5, 5].map((size) => ({ size, unit: 'cm' })));
      expect(v1.events.map(({ object }) => object.metadata.resourceVersion)).to.deep.equal(
        v2.events.map(({ object }) => object.metadata.resourceVersion),
      );
    });

    it('starts with the present objects, and sends bookmarks in the requested version', async () => {
      await server.create(gadgetsV2, newGadgetV2('a'));
      const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
      const watch = await server.watch(`${gadgetsV1}?${query}`);
      const [added, bookmark] = await watch.count(2);
      expect([added?.type, added?.object.spec]).to.deep.equal(['ADDED', { extent: '3 mm', colour: 'red' }]);
      expect([bookmark?.type, bookmark?.object.apiVersion]).to.deep.equal(['BOOKMARK', 'shop.example.com/v1']);
    });
  });

  describe('when it is written', () => {
    it('accepts PUT, merge patch and JSON patch in any version', async () => {
      await server.create(gadgetsV2, newGadgetV2('a'));
      const put = await server.put(`${gadgetsV1}/a`, newGadgetV1('a', { extent: '7 m', colour: 'blue' }));
      expect([put.status, put.body.spec]).to.deep.equal([200, { extent: '7 m', colour: 'blue' }]);
      await server.patch(`${gadgetsV1}/a`, { spec: { count: 2 } });
      const operations = [{ op: 'replace', path: '/spec/extent', value: '8 m' }];
      await server.patch(`${gadgetsV1}/a`, operations, { type: 'application/json-patch+json' });
      const { spec, metadata } = await read(`${gadgetsV2}/a`);
      expect([spec, metadata.version, metadata.generation]).to.deep.equal([{ size: 8, unit: 'm', replicas: 2 }, 4, 4]);
    });

    it('stores nothing when a write in any version changes nothing', async () => {
      const created = await server.create(gadgetsV2, newGadgetV2('a', {}, { labels: { x: 'y' } }));
      const shown = await read(`${gadgetsV1}/a`);
      for (const answer of [
        await server.put(`${gadgetsV1}/a`, shown),
        await server.patch(`${gadgetsV1}/a`, { spec: { extent: '3 mm' } }),
      ])
        expect([answer.status, answer.body]).to.deep.equal([200, shown]);
      expect((await read(`${gadgetsV2}/a`)).metadata.resourceVersion).to.equal(created.metadata.resourceVersion);
    });

    it('stores nothing when the conversion to the storage version drops the written change', async () => {
      await server.create(gadgetsV1, newGadgetV1('a'));
      const { metadata } = await read(`${gadgetsV1}/a`);
      const { status, body } = await server.patch(`${gadgetsV1}/a`, { spec: { extent: '3 cm and a bit' } });
      expect([status, body.metadata, body.spec.extent]).to.deep.equal([200, metadata, '3 cm']);
    });

    it('refuses a stale update and a second creation (409), also in another version than that of the first creation', async () => {
      await server.create(gadgetsV2, newGadgetV2('a'));
      const stale = await read(`${gadgetsV1}/a`);
      await server.patch(`${gadgetsV2}/a`, { spec: { size: 4 } });
      expect((await server.put(`${gadgetsV1}/a`, { ...stale, spec: { extent: '5 m' } })).status).to.equal(409);
      expect((await server.post(gadgetsV1, newGadgetV1('a'))).status).to.equal(409);
    });

    it('stores nothing in a dry run; the response contains the result', async () => {
      const { status, body } = await server.post(`${gadgetsV1}?dryRun=All`, newGadgetV1('a', { extent: '3' }));
      expect([status, body.spec]).to.deep.equal([201, { extent: '3 mm', colour: 'red' }]);
      expect((await server.get(`${gadgetsV2}/a`)).status).to.equal(404);
    });

    it('accepts writes of status and scale in the versions that have these subresources', async () => {
      await server.create(gadgetsV2, newGadgetV2('a'));
      await server.patch(`${gadgetsV1}/a/status`, { status: { state: 'Ready', count: 1 } });
      const scaled = await server.patch(`${gadgetsV1}/a/scale`, { spec: { replicas: 3 } });
      expect([scaled.status, scaled.body.spec, scaled.body.status]).to.deep.equal([
        200,
        { replicas: 3 },
        { replicas: 1 },
      ]);
      const { spec, status } = await read(`${gadgetsV2}/a`);
      expect([spec.replicas, status]).to.deep.equal([3, { phase: 'Ready', replicas: 1 }]);
      expect((await read(`${gadgetsV1}/a`)).spec.count).to.equal(3);
    });

    it('refuses a unique value that an object written in another version already has', async () => {
      await server.create(gadgetsV2, newGadgetV2('a', { code: 'one' }));
      const { status, body } = await server.post(gadgetsV1, newGadgetV1('b', { code: 'one' }));
      expect([status, body.details.causes[0].reason]).to.deep.equal([422, 'FieldValueDuplicate']);
      await server.patch(`${gadgetsV1}/a`, { spec: { code: null } });
      expect((await server.post(gadgetsV1, newGadgetV1('b', { code: 'one' }))).status).to.equal(201);
    });

    it('accepts deletions in any version; if the object has finalizers, it is returned in the version of the request', async () => {
      await server.create(gadgetsV2, newGadgetV2('held', {}, { finalizers: ['example.com/hold'] }));
      const { body } = await server.delete(`${gadgetsV1}/held`);
      expect([body.spec.extent, typeof body.metadata.deletionTimestamp]).to.deep.equal(['3 mm', 'string']);
      await server.patch(`${gadgetsV1}/held`, { metadata: { finalizers: null } });
      expect((await server.get(`${gadgetsV2}/held`)).status).to.equal(404);
    });

    it('refuses a body whose version is not that of the path (400)', async () => {
      const { status, body } = await server.post(gadgetsV1, newGadgetV2('a'));
      expect([status, body.message]).to.deep.equal([
        400,
        'the API version in the data (shop.example.com/v2) does not match the expected API version (shop.example.com/v1)',
      ]);
    });
  });

  describe('with server-side apply', () => {
    const apply = (path: string, body: object, manager: string, more = ''): ReturnType<TestServer['patch']> =>
      server.patch(`${path}/a?fieldManager=${manager}${more}`, body, { type: applyType });

    it('accepts an apply in any version, and writes each entry of managedFields in the version of its write', async () => {
      expect((await apply(gadgetsV1, newGadgetV1('a'), 'one')).status).to.equal(201);
      expect((await apply(gadgetsV2, newGadgetV2('a', { code: 'x' }), 'two')).status).to.equal(200);
      const { metadata } = await read(`${gadgetsV1}/a`);
      const owners = metadata.managedFields.map((entry: { manager: string; apiVersion: string; fieldsV1: object }) => [
        entry.manager,
        entry.apiVersion,
        entry.fieldsV1,
      ]);
      expect(owners).to.deep.equal([
        ['one', 'shop.example.com/v1', { 'f:spec': { 'f:extent': {} } }],
        ['two', 'shop.example.com/v2', { 'f:spec': { 'f:code': {}, 'f:size': {} } }],
      ]);
    });

    it('reports a conflict with a field that was applied in another version, and names the field as that other version does', async () => {
      await apply(gadgetsV1, newGadgetV1('a'), 'one');
      const refused = await apply(gadgetsV2, newGadgetV2('a', { size: 4 }), 'two');
      expect([refused.status, refused.body.details.causes]).to.deep.equal([
        409,
        [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.spec.extent' }],
      ]);
      const forced = await apply(gadgetsV2, newGadgetV2('a', { size: 4 }), 'two', '&force=true');
      expect(forced.body.metadata.managedFields.map(({ manager }: { manager: string }) => manager)).to.deep.equal([
        'two',
      ]);
    });

    it('ends the ownership of a field when an update in another version changes the field', async () => {
      await apply(gadgetsV1, newGadgetV1('a', { colour: 'red' }), 'one');
      await server.patch(`${gadgetsV2}/a?fieldManager=two`, { spec: { size: 4 } });
      const { metadata } = await read(`${gadgetsV2}/a`);
      expect(metadata.managedFields[0]).to.deep.include({
        manager: 'one',
        apiVersion: 'shop.example.com/v1',
        fieldsV1: { 'f:spec': { 'f:colour': {} } },
      });
    });
  });

  describe('an object that cannot be converted', () => {
    it('causes the refusal of a write (422) with a message that names kind and versions', async () => {
      const { status, body } = await server.post(gadgetsV1, newGadgetV1('a', { extent: 'big' }));
      expect([status, body.reason, body.message]).to.deep.equal([
        422,
        'Invalid',
        'Gadget.shop.example.com "a" is invalid: Gadget "a" cannot be converted from shop.example.com/v1 to shop.example.com/v2: "big" is not a size',
      ]);
    });

    it('causes 422 for a write, when the converted object breaks the schema of the storage version', async () => {
      const { status, body } = await server.post(gadgetsV1, newGadgetV1('a', { extent: '101 m' }));
      expect([status, body.details.causes[0].field]).to.deep.equal([422, 'spec.size']);
      expect(body.message).to.contain('as converted to v2, the storage version');
    });

    it('causes 422 for a write, when the converted object cannot be converted back to the version of the request', async () => {
      expect((await server.post(gadgetsV1, newGadgetV1('a', { code: 'odd' }))).status).to.equal(422);
      expect((await server.get(`${gadgetsV2}/a`)).status).to.equal(404);
    });

    it('causes 500 for reads and lists in the version that cannot represent it, but not in other versions', async () => {
      await server.create(gadgetsV2, newGadgetV2('a'));
      await server.create(gadgetsV2, newGadgetV2('b', { code: 'odd' }));
      const message =
        'Gadget "b" cannot be converted from shop.example.com/v2 to shop.example.com/v1: an object with the code "odd" has no extent';
      for (const path of [`${gadgetsV1}/b`, gadgetsV1]) {
        const { status, body } = await server.get(path);
        expect([status, body.reason, body.message], path).to.deep.equal([500, 'InternalError', message]);
      }
      expect((await server.get(`${gadgetsV1}/a`)).status).to.equal(200);
      expect((await server.get(gadgetsV2)).body.total).to.equal(2);
      expect(JSON.stringify(warnings)).to.contain('"kind":"Gadget","group":"shop.example.com","owner":"service"');
    });

    it('causes an ERROR event, which ends a watch in the version that cannot represent the object, but no other watch', async () => {
      const from = `watch=true&resourceVersion=${await server.revision(gadgetsV2)}`;
      const failing = await server.watch(`${gadgetsV1}?${from}`);
      const others = [
        await server.watch(`${gadgetsV2}?${from}`),
        await server.watch(`${gadgetsV1}?${from}&fieldSelector=metadata.name%3Dlater`),
      ];
      await server.create(gadgetsV2, newGadgetV2('b', { code: 'odd' }));
      const [error] = await failing.end();
      expect([error?.type, (error?.object as { code?: number }).code]).to.deep.equal(['ERROR', 500]);
      await server.create(gadgetsV2, newGadgetV2('later'));
      for (const watch of others)
        await watch.until((events) => events.some(({ object }) => object.metadata.name === 'later'));
    });

    it('is deleted when a write removes its last finalizer, even with other changes in the write', async () => {
      await server.create(gadgetsV2, newGadgetV2('held', {}, { finalizers: ['example.com/hold'] }));
      await server.delete(`${gadgetsV2}/held`);
      const watch = await server.watch(`${gadgetsV2}?watch=true&resourceVersion=${await server.revision(gadgetsV2)}`);
      const change = { metadata: { finalizers: null }, spec: { extent: 'none' } };
      const { status, body } = await server.patch(`${gadgetsV1}/held`, change);
      expect([status, body.spec.extent]).to.deep.equal([200, 'none']);
      const [event] = await watch.count(1);
      expect([event?.type, event?.object.spec]).to.deep.equal(['DELETED', { size: 3, unit: 'mm' }]);
    });

    it('can be deleted', async () => {
      await server.create(gadgetsV2, newGadgetV2('b', { code: 'odd' }));
      expect((await server.delete(`${gadgetsV1}/b`)).status).to.equal(200);
    });

    it('can be marked as deleted when it has a finalizer: a first and a second DELETE get a Status with Success', async () => {
      const held = newGadgetV2('b', { code: 'odd' }, { finalizers: ['example.com/hold'] });
      const { metadata } = await server.create(gadgetsV2, held);
      for (const time of ['first', 'second']) {
        const { status, body } = await server.delete(`${gadgetsV1}/b`);
        expect([status, body.kind, body.status, body.details.uid], time).to.deep.equal([
          200,
          'Status',
          'Success',
          metadata.uid,
        ]);
        expect((await read(`${gadgetsV2}/b`)).metadata.deletionTimestamp, time).to.be.a('string');
      }
      await server.patch(`${gadgetsV2}/b`, { metadata: { finalizers: null } });
      expect((await server.get(`${gadgetsV2}/b`)).status).to.equal(404);
    });
  });

  describe('when clients discover it', () => {
    it('appears in discovery in every version, with the preferred version first', async () => {
      const { body } = await server.get('/apis/shop.example.com');
      expect(body.versions.map(({ version }: { version: string }) => version)).to.deep.equal(['v2', 'v1']);
      expect(body.preferredVersion.version).to.equal('v2');
      for (const version of ['v1', 'v2']) {
        const { resources } = await read(`/apis/shop.example.com/${version}`);
        expect(resources.map(({ name }: { name: string }) => name)).to.deep.equal([
          'gadgets',
          'gadgets/status',
          'gadgets/scale',
        ]);
      }
    });

    it('appears in OpenAPI: in a v3 document for each version, and in the v2 document', async () => {
      const fieldsOf = async (path: string, key: string): Promise<string[]> => {
        const document = await read(path);
        const schemas = document.definitions ?? document.components.schemas;
        return Object.keys(schemas[key].properties);
      };
      for (const [version, field] of [
        ['v1', 'extent'],
        ['v2', 'size'],
      ]) {
        const key = `com.example.shop.${version}.GadgetSpec`;
        expect(await fieldsOf(`/openapi/v3/apis/shop.example.com/${version}`, key)).to.include(field);
        expect(await fieldsOf('/openapi/v2', key)).to.include(field);
      }
    });
  });

  it('keeps dependents whose owner reference has an unknown version, and deletes them with the owner', async () => {
    const owner = await server.create(gadgetsV2, newGadgetV2('owner'));
    const { name, uid } = owner.metadata;
    const ownerReferences = [{ apiVersion: 'shop.example.com/v7', kind: 'Gadget', name, uid }];
    await server.create(gadgetsV2, newGadgetV2('part', {}, { ownerReferences }));
    const watch = await server.watch(`${gadgetsV1}?watch=true&resourceVersion=${await server.revision(gadgetsV2)}`);
    await server.delete(`${gadgetsV1}/owner`);
    await watch.count(2);
    expect(watch.summary).to.deep.equal(['DELETED owner', 'DELETED part']);
  });
});
