import type { ApiObject } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { TestServer } from './support/servers/test-server.ts';
import {
  establish,
  newWidget,
  widgetDefinition,
  widgets,
  widgetVersion,
} from './support/definitions/widget-definition.ts';

const paths = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.selector',
};

describe('the Scale of an object [compat scale]', () => {
  const url = `${widgets}/a/scale`;
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
    await establish(
      server,
      widgetDefinition({ versions: [widgetVersion({ subresources: { status: {}, scale: paths } })] }),
    );
    await server.create(widgets, newWidget('a', { replicas: 1 }));
    await server.patch(`${widgets}/a/status`, { status: { replicas: 2, selector: 'app=a' } });
  });

  after(() => server.stop());

  const scale = (replicas: unknown, metadata: object = { name: 'a' }): object => ({
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata,
    spec: { replicas },
  });

  it('shows the desired and the actual number of replicas', async () => {
    const { status, body } = await server.get(url);
    const { metadata } = (await server.get(`${widgets}/a`)).body;
    const { name, uid, resourceVersion, creationTimestamp } = metadata;
    expect(status).to.equal(200);
    expect(body).to.deep.equal({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name, uid, resourceVersion, creationTimestamp },
      spec: { replicas: 1 },
      status: { replicas: 2, selector: 'app=a' },
    });
  });

  it('sets only the replicas of the object by PUT, merge patch, strategic merge patch and JSON patch', async () => {
    const patches: readonly (readonly [type: string, patch: unknown])[] = [
      ['application/merge-patch+json', { spec: { replicas: 4 } }],
      ['application/strategic-merge-patch+json', { spec: { replicas: 5 } }],
      ['application/json-patch+json', [{ op: 'replace', path: '/spec/replicas', value: 6 }]],
    ];
    expect((await server.put(url, scale(3))).body.spec).to.deep.equal({ replicas: 3 });
    expect((await server.get(`${widgets}/a`)).body.spec).to.deep.equal({ size: 3, color: 'red', replicas: 3 });
    for (const [index, [type, patch]] of patches.entries()) {
      const { status, body } = await server.patch(url, patch, { type });
      expect([status, body.spec]).to.deep.equal([200, { replicas: 4 + index }]);
    }
    const { body } = await server.get(`${widgets}/a`);
    expect([body.spec.replicas, body.status.replicas]).to.deep.equal([6, 2]);
  });

  it('a write to /scale gets its own entry in managedFields of the object, apart from other writes of the same manager', async () => {
    await server.put(`${url}?fieldManager=scaler`, scale(7));
    await server.patch(`${widgets}/a?fieldManager=scaler`, { spec: { color: 'blue' } });
    const { managedFields } = (await server.get(`${widgets}/a`)).body.metadata as ApiObject['metadata'];
    const ofScaler = managedFields?.filter(({ manager }) => manager === 'scaler');
    expect(
      ofScaler?.map(({ operation, apiVersion, subresource, fieldsV1 }) => ({
        operation,
        apiVersion,
        subresource,
        fieldsV1,
      })),
    ).to.have.deep.members([
      {
        operation: 'Update',
        apiVersion: 'shop.example.com/v1',
        subresource: 'scale',
        fieldsV1: { 'f:spec': { 'f:replicas': {} } },
      },
      {
        operation: 'Update',
        apiVersion: 'shop.example.com/v1',
        subresource: undefined,
        fieldsV1: { 'f:spec': { 'f:color': {} } },
      },
    ]);
  });

  it('stores nothing with dryRun', async () => {
    const before = (await server.get(url)).text;
    expect((await server.put(`${url}?dryRun=All`, scale(9))).body.spec.replicas).to.equal(9);
    expect((await server.get(url)).text).to.equal(before);
  });

  it('accepts each of four concurrent patches', async () => {
    const answers = await Promise.all([1, 2, 3, 4].map((replicas) => server.patch(url, { spec: { replicas } })));
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
  });

  const refusals: readonly (readonly [what: string, body: object, status: number])[] = [
    ['an outdated resourceVersion', scale(1, { name: 'a', resourceVersion: '1' }), 409],
    ['another uid', scale(1, { name: 'a', uid: 'x' }), 422],
    ['another name', scale(1, { name: 'b' }), 400],
    ['a negative number of replicas', scale(-4), 422],
    ['a fraction of a replica', scale(1.5), 422],
    ['a text as the number of replicas', scale('3'), 422],
    ['a number of replicas above 32 bits', scale(2 ** 31), 422],
    ['another kind', newWidget('a'), 400],
    ['a spec that is not an object', { ...scale(1), spec: 3 }, 400],
  ];
  for (const [what, body, status] of refusals) {
    it(`refuses ${what} with ${status}`, async () => {
      expect((await server.put(url, body)).status).to.equal(status);
    });
  }

  it('refuses an apply, and names the accepted patch types', async () => {
    const { status, body } = await server.patch(`${url}?fieldManager=me`, scale(1), {
      type: 'application/apply-patch+yaml',
    });
    expect(status).to.equal(415);
    expect(body.message).to.contain('application/merge-patch+json').and.not.to.contain('apply-patch');
  });

  it('refuses a negative number of replicas with an error that names the object, the field and the number', async () => {
    const { body } = await server.put(url, scale(-4));
    expect(body.message).to.equal(
      'Widget.shop.example.com "a" is invalid: .spec.replicas: Invalid value: -4: should be a non-negative integer',
    );
  });

  it('responds with 405 to DELETE, and with 404 for an absent object or a kind without a Scale', async () => {
    expect((await server.delete(url)).status).to.equal(405);
    expect((await server.get(`${widgets}/nobody/scale`)).status).to.equal(404);
    expect((await server.get('/apis/people.example.com/v1alpha1/persons/a/scale')).status).to.equal(404);
  });

  it('is in both forms of discovery', async () => {
    const legacy = (await server.get('/apis/shop.example.com/v1')).body.resources as { name: string }[];
    expect(legacy.find(({ name }) => name === 'widgets/scale')).to.deep.equal({
      name: 'widgets/scale',
      singularName: '',
      namespaced: false,
      group: 'autoscaling',
      version: 'v1',
      kind: 'Scale',
      verbs: ['get', 'patch', 'update'],
    });
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const groups = (await server.get('/apis', { accept })).body.items as { metadata: object; versions: object[] }[];
    const group = groups.find(({ metadata }) => JSON.stringify(metadata).includes('shop.example.com'));
    expect(JSON.stringify(group)).to.include('{"subresource":"scale","responseKind":{"group":"autoscaling"');
  });
});
