import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { TestServer } from './support/servers/test-server.ts';
import {
  establish,
  newWidget,
  widgetDefinition,
  widgetDefinitionPath as path,
  widgets,
  widgetVersion,
} from './support/definitions/widget-definition.ts';

const beta = widgets.replace('/v1/', '/v1beta1/');

const betaSpec = {
  type: 'object',
  properties: {
    size: { type: 'integer' },
    color: { type: 'string', default: 'green' },
    note: { type: 'string' },
    tags: { type: 'array', items: { type: 'string' } },
  },
};

/**
 * The version v1beta1. Compared with v1, it has fewer rules, another default, an additional field, and no status
 * subresource.
 */
const betaVersion = widgetVersion({
  name: 'v1beta1',
  storage: false,
  deprecated: true,
  deprecationWarning: 'v1beta1 goes in May',
  schema: { openAPIV3Schema: { type: 'object', properties: { spec: betaSpec } } },
  subresources: undefined,
  additionalPrinterColumns: [{ name: 'Note', type: 'string', jsonPath: '.spec.note' }],
  selectableFields: [{ jsonPath: '.spec.size' }, { jsonPath: '.spec.note' }],
});

function newBeta(name: string, spec: object): object {
  return { ...newWidget(name), apiVersion: 'shop.example.com/v1beta1', spec };
}

describe('CustomResourceDefinitions with several versions', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  after(() => server.stop());

  beforeEach(() => establish(server, widgetDefinition({ versions: [widgetVersion(), betaVersion] })));

  afterEach(async () => {
    await server.delete(path);
    await eventually(async () => (await server.get(path)).status === 404);
  });

  it('serve every object in each version, pruned and with the defaults of that version', async () => {
    await server.create(widgets, newWidget('a', { color: 'blue', extra: { any: 1 } }));
    await server.create(beta, newBeta('b', { size: 5, note: 'n' }));
    const specs = async (list: string): Promise<unknown> => {
      const { body } = await server.get(`${list}?sort=name,asc`);
      return body.items.map((item: { apiVersion: string; spec: object }) => [item.apiVersion, item.spec]);
    };
    expect(await specs(widgets)).to.deep.equal([
      ['shop.example.com/v1', { size: 3, color: 'blue', extra: { any: 1 } }],
      ['shop.example.com/v1', { size: 5, color: 'green' }],
    ]);
    expect(await specs(beta)).to.deep.equal([
      ['shop.example.com/v1beta1', { size: 3, color: 'blue' }],
      ['shop.example.com/v1beta1', { size: 5, color: 'green' }],
    ]);
  });

  it('refuse an object in another version if the object breaks the schema of the storage version', async () => {
    const { status, body } = await server.post(beta, newBeta('a', { size: 0 }));
    expect([status, body.details.causes[0].field]).to.deep.equal([422, 'spec.size']);
  });

  it('add a Warning header with the deprecationWarning to responses in a deprecated version', async () => {
    expect((await server.get(beta)).headers['warning']).to.equal('299 - "v1beta1 goes in May"');
    expect((await server.get(widgets)).headers['warning']).to.equal(undefined);
  });

  it('select objects of each version by the selectable fields of all versions, but respond with 400 if the storage schema lacks the field', async () => {
    await server.create(beta, newBeta('a', { size: 5 }));
    for (const list of [widgets, beta])
      expect((await server.get(`${list}?fieldSelector=spec.size%3D5,spec.color%3Dgreen`)).body.total).to.equal(1);
    const { status, body } = await server.get(`${beta}?fieldSelector=spec.note%3Dn`);
    expect([status, body.message]).to.satisfy(
      ([code, message]: [number, string]) => code === 400 && message.includes('spec.note'),
    );
  });

  it('list widgets/status in the discovery of each version, even of one that does not declare the subresource', async () => {
    await server.create(widgets, newWidget('a'));
    expect((await server.patch(`${widgets}/a/status`, { status: { phase: 'Ready' } })).status).to.equal(200);
    const discovered = async (version: string): Promise<string[]> =>
      (await server.get(`/apis/shop.example.com/${version}`)).body.resources.map(({ name }: { name: string }) => name);
    expect([await discovered('v1'), await discovered('v1beta1')]).to.deep.equal([
      ['widgets', 'widgets/status'],
      ['widgets', 'widgets/status'],
    ]);
  });

  it('keep objects and uids, and extend status.storedVersions, when another version becomes the storage version', async () => {
    const { metadata } = await server.create(widgets, newWidget('a', { port: 1 }));
    const versions = [widgetVersion({ storage: false }), widgetVersion({ name: 'v2' }), betaVersion];
    expect((await server.patch(path, { spec: { versions } })).status).to.equal(200);
    const moved = widgets.replace('/v1/', '/v2/');
    await eventually(async () => (await server.get(`${moved}/a`)).status === 200);
    for (const list of [widgets, moved, beta])
      expect((await server.get(`${list}/a`)).body.metadata, list).to.deep.equal(metadata);
    await eventually(async () => (await server.get(path)).body.status.storedVersions.length === 2);
    expect((await server.get(path)).body.status.storedVersions).to.deep.equal(['v1', 'v2']);
    const refused = await server.patch(path, { spec: { versions: [widgetVersion({ name: 'v2' })] } });
    expect([refused.status, refused.body.details.causes[0].field]).to.deep.equal([422, 'status.storedVersions[0]']);
    await server.patch(`${path}/status`, { status: { storedVersions: ['v2'] } });
    expect((await server.patch(path, { spec: { versions: [widgetVersion({ name: 'v2' })] } })).status).to.equal(200);
    await eventually(async () => (await server.get(widgets)).status === 404);
    // Requests for the kind return 503 while its indexes are built again.
    await eventually(async () => (await server.get(`${moved}/a`)).status === 200);
    expect((await server.get(`${moved}/a`)).body.spec).to.deep.equal({ size: 3, color: 'red', port: 1 });
  });

  it("allow changes of a version's schema without ending the watches of that version", async () => {
    await server.create(beta, newBeta('a', { size: 5 }));
    const watch = await server.watch(`${beta}?watch=true&resourceVersion=${await server.revision(beta)}`);
    const { color: _color, ...properties } = betaSpec.properties;
    const spec = { ...betaSpec, properties };
    const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
    const versions = [widgetVersion(), { ...betaVersion, schema }];
    await server.patch(path, { spec: { versions } });
    await eventually(async () => (await server.get(`${beta}/a`)).body.spec.color === undefined);
    await server.patch(`${widgets}/a`, { spec: { size: 6, color: 'blue' } });
    const [event] = await watch.count(1);
    expect(event?.object.spec).to.deep.equal({ size: 6 });
    expect((await server.get(`${widgets}/a`)).body.spec).to.deep.equal({ size: 6, color: 'blue' });
  });

  it('may have a storage version that is not served', async () => {
    await server.create(widgets, newWidget('a'));
    const versions = [widgetVersion({ served: false }), betaVersion];
    expect((await server.patch(path, { spec: { versions } })).status).to.equal(200);
    await eventually(async () => (await server.get(widgets)).status === 404);
    await eventually(async () => (await server.get(beta)).status === 200);
    expect((await server.get(`${beta}/a`)).body.spec).to.deep.equal({ size: 3, color: 'red' });
    const { body } = await server.get('/apis/shop.example.com');
    expect(body.versions).to.deep.equal([{ groupVersion: 'shop.example.com/v1beta1', version: 'v1beta1' }]);
  });
});
