import { defineModel } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { demoPerson } from './support/models/demo-person.ts';
import { machine } from './support/models/models.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

const aggregated = (version: string): string =>
  `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
/**
 * The Accept headers of kubectl: version 1.32 sends `newest`; 1.27 and 1.28 send `older`, because they know only
 * v2beta1.
 */
const newest = `${aggregated('v2')},${aggregated('v2beta1')},application/json`;
const older = `${aggregated('v2beta1')},application/json`;
const group = 'demo.example.com';
const all = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const some = ['get', 'patch', 'update'];

const stable = defineModel({ gvk: `${group}/v1/Ship`, plural: 'ships', schema: { type: 'object', properties: {} } });
const beta = defineModel({ gvk: `${group}/v1beta2/Boat`, plural: 'boats', schema: { type: 'object', properties: {} } });

describe('discovery [compat discovery]', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
    for (const model of [demoPerson, beta, stable]) {
      server.api.schemeManager.register(model);
      await server.api.whenReady(model);
    }
  });

  after(() => server.stop());

  describe('in the legacy form', () => {
    it('lists the groups, each with its versions, the preferred version first', async () => {
      const { body } = await server.get('/apis');
      expect(body).to.include({ kind: 'APIGroupList', apiVersion: 'v1' });
      expect(body.groups.map(({ name }: { name: string }) => name)).to.deep.equal([
        'admissionregistration.k8s.io',
        'apiextensions.k8s.io',
        'apiregistration.k8s.io',
        'authentication.k8s.io',
        'authorization.k8s.io',
        'controllers.homeostat.internal',
        'coordination.k8s.io',
        group,
        'events.k8s.io',
        'iam.homeostat.internal',
        'people.example.com',
        'rbac.authorization.k8s.io',
      ]);
      const versions = ['v1', 'v1beta2', 'v1alpha1'].map((version) => ({
        groupVersion: `${group}/${version}`,
        version,
      }));
      const demo = body.groups[7];
      expect(demo).to.deep.equal({ name: group, versions, preferredVersion: versions[0] });
      const one = await server.get(`/apis/${group}`);
      expect(one.body).to.deep.equal({ kind: 'APIGroup', apiVersion: 'v1', ...demo });
      expect((await server.get('/api')).body).to.deep.equal({
        kind: 'APIVersions',
        versions: ['v1'],
        serverAddressByClientCIDRs: [],
      });
    });

    it('lists the resources of each group version, with all fields that clients use', async () => {
      for (const { versions } of (await server.get('/apis')).body.groups) {
        for (const { groupVersion } of versions) {
          const { status, body } = await server.get(`/apis/${groupVersion}`);
          expect([status, body.kind, body.groupVersion]).to.deep.equal([200, 'APIResourceList', groupVersion]);
        }
      }
      const { body } = await server.get(`/apis/${group}/v1alpha1`);
      expect(body.resources).to.deep.equal([
        {
          name: 'persons',
          singularName: 'person',
          namespaced: false,
          kind: 'Person',
          verbs: all,
          shortNames: ['ps'],
          categories: ['all', 'people'],
        },
        { name: 'persons/status', singularName: '', namespaced: false, kind: 'Person', verbs: some },
      ]);
    });

    it('returns 404 for a group or version without served kinds', async () => {
      for (const path of ['/apis/nobody.example.com', `/apis/${group}/v7`, '/api/v7', '/apis/__proto__']) {
        expectRefusal(await server.get(path), { reason: 'NotFound' });
      }
    });
  });

  describe('aggregated', () => {
    for (const [accept, version] of [
      [newest, 'v2'],
      [older, 'v2beta1'],
    ] as const) {
      it(`is one aggregated document of ${version} when that version is first in the Accept header`, async () => {
        const { status, headers, body } = await server.get('/apis', { accept });
        expect([status, headers['content-type'], headers.vary]).to.deep.equal([200, aggregated(version), 'Accept']);
        expect(body).to.include({ kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${version}` });
        const [demo, people] = body.items.filter(({ metadata }: { metadata: { name: string } }) =>
          metadata.name.endsWith('.example.com'),
        );
        expect(demo.metadata).to.deep.equal({ name: group });
        expect(demo.versions.map((each: { version: string }) => each.version)).to.deep.equal([
          'v1',
          'v1beta2',
          'v1alpha1',
        ]);
        const responseKind = { group, version: 'v1alpha1', kind: 'Person' };
        expect(demo.versions[2]).to.deep.equal({
          version: 'v1alpha1',
          freshness: 'Current',
          resources: [
            {
              resource: 'persons',
              responseKind,
              scope: 'Cluster',
              singularResource: 'person',
              verbs: all,
              shortNames: ['ps'],
              categories: ['all', 'people'],
              subresources: [{ subresource: 'status', responseKind, verbs: some }],
            },
          ],
        });
        const [letters] = people.versions[0].resources;
        expect(letters).to.include({ resource: 'letters', scope: 'Namespaced' }).and.not.have.any.keys('shortNames');
      });
    }

    it('has the core group at /api', async () => {
      const { status, body } = await server.get('/api', { accept: newest });
      expect([status, body.kind]).to.deep.equal([200, 'APIGroupDiscoveryList']);
      const [core] = body.items;
      expect(core.metadata).to.deep.equal({});
      const resources: readonly { readonly resource: string }[] = core.versions[0].resources;
      expect(resources.map(({ resource }) => resource)).to.deep.equal([
        'configmaps',
        'events',
        'namespaces',
        'resourcequotas',
        'secrets',
        'serviceaccounts',
        'services',
      ]);
    });

    it('lists create as the only verb of reviews', async () => {
      const { body } = await server.get('/apis', { accept: newest });
      const authorization = body.items.find(
        ({ metadata }: { metadata: { name: string } }) => metadata.name === 'authorization.k8s.io',
      );
      const review = { group: 'authorization.k8s.io', version: 'v1', kind: 'LocalSubjectAccessReview' };
      expect(authorization.versions[0].resources[0]).to.deep.equal({
        resource: 'localsubjectaccessreviews',
        responseKind: review,
        scope: 'Namespaced',
        singularResource: 'localsubjectaccessreview',
        verbs: ['create'],
        subresources: [],
      });
    });

    it('is refused with 406 when the Accept header has only an unknown version', async () => {
      expectRefusal(await server.get('/apis', { accept: aggregated('v3') }), { reason: 'NotAcceptable' });
      expect((await server.get('/apis', { accept: `${aggregated('v3')},application/json` })).body.kind).to.equal(
        'APIGroupList',
      );
    });
  });

  for (const [path, accept] of [
    ['/apis', newest],
    ['/apis', older],
    ['/apis', '*/*'],
    ['/api', newest],
    [`/apis/${group}/v1alpha1`, '*/*'],
  ] as const) {
    it(`responds with 304 for ${path} as ${accept.slice(0, 50)} when the client sends the current ETag`, async () => {
      const { headers } = await server.get(path, { accept });
      const etag = headers.etag ?? '';
      const same = await server.get(path, { accept, 'if-none-match': etag });
      expect([same.status, same.text]).to.deep.equal([304, '']);
      expect((await server.get(path, { accept, 'if-none-match': '"x"' })).status).to.equal(200);
    });
  }

  it('omits a kind in the first response after its removal, and shows it again when it is registered again', async () => {
    const before = (await server.get('/apis', { accept: newest })).headers.etag ?? '';
    server.api.schemeManager.unregister(machine, 'service');
    const without = await server.get('/apis', { accept: newest, 'if-none-match': before });
    expect(without.status).to.equal(200);
    expect(without.text).not.to.contain('machines');
    server.api.schemeManager.register(machine);
    await server.api.whenReady(machine);
    expect((await server.get('/apis', { accept: newest })).headers.etag).to.equal(before);
  });

  it('lists the paths of the server in the response to GET /', async () => {
    const { paths } = (await server.get('/')).body;
    expect(paths).to.include.members([
      '/apis',
      `/apis/${group}`,
      `/apis/${group}/v1`,
      '/openapi/v2',
      '/openapi/v3',
      '/version',
    ]);
    for (const path of paths) expect((await server.get(path)).status, path).to.equal(200);
  });

  it('accepts trailing slashes, which the Python client sends, and refuses POST with 405', async () => {
    for (const path of ['/api', '/apis', '/version', `/apis/${group}`, `/apis/${group}/v1`]) {
      expect((await server.get(`${path}/`)).status, path).to.equal(200);
      expectRefusal(await server.post(path, {}), { reason: 'MethodNotAllowed' });
    }
  });

  it('returns a version that kubectl can parse at /version', async () => {
    const { body } = await server.get('/version');
    expect(body).to.include({ major: '1', minor: '32' });
    expect(body.gitVersion).to.match(/^v1\.32\.\d+(\+[0-9A-Za-z.-]+)?$/);
    for (const field of ['gitCommit', 'gitTreeState', 'buildDate', 'goVersion', 'compiler', 'platform']) {
      expect(body[field], field).to.be.a('string');
    }
  });
});
