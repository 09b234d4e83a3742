import { expect } from 'chai';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

/** The kinds that operators use, by the path of their group version. */
const served: readonly (readonly [path: string, kinds: readonly string[]])[] = [
  ['/api/v1', ['Namespace', 'Event', 'ConfigMap', 'Secret', 'ServiceAccount', 'ResourceQuota']],
  ['/apis/rbac.authorization.k8s.io/v1', ['Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding']],
  ['/apis/authentication.k8s.io/v1', ['TokenReview', 'SelfSubjectReview']],
  [
    '/apis/authorization.k8s.io/v1',
    ['SubjectAccessReview', 'LocalSubjectAccessReview', 'SelfSubjectAccessReview', 'SelfSubjectRulesReview'],
  ],
  ['/apis/coordination.k8s.io/v1', ['Lease']],
  ['/apis/events.k8s.io/v1', ['Event']],
  ['/apis/apiextensions.k8s.io/v1', ['CustomResourceDefinition']],
  [
    '/apis/admissionregistration.k8s.io/v1',
    [
      'ValidatingWebhookConfiguration',
      'MutatingWebhookConfiguration',
      'ValidatingAdmissionPolicy',
      'ValidatingAdmissionPolicyBinding',
    ],
  ],
  ['/apis/apiregistration.k8s.io/v1', ['APIService']],
];

const absent = [
  '/api/v1/namespaces/default/pods',
  '/api/v1/nodes',
  '/api/v1/persistentvolumes',
  '/apis/apps/v1',
  '/apis/apps/v1/namespaces/default/deployments',
  '/apis/batch/v1/namespaces/default/jobs',
  '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
];

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';

interface ApiResource {
  readonly name: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

describe('the kinds that operators use', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  after(() => server.stop());

  for (const [path, kinds] of served) {
    it(`are served at ${path}, each with a schema; their lists, except that of APIServices, can be tables [spec operators-kinds]`, async () => {
      const resources = (await server.get(path)).body.resources as readonly ApiResource[];
      expect(resources.map(({ kind }) => kind)).to.include.members([...kinds]);
      const document = (await server.get(`/openapi/v3${path}`)).body as {
        components: { schemas: Record<string, { 'x-kubernetes-group-version-kind'?: readonly { kind: string }[] }> };
      };
      const described = Object.values(document.components.schemas).flatMap(
        (schema) => schema['x-kubernetes-group-version-kind'] ?? [],
      );
      expect(described.map(({ kind }) => kind)).to.include.members([...kinds]);
      for (const { name, kind, verbs } of resources) {
        // The server does not send APIServices as tables, so kubectl makes the table itself.
        if (kind === 'APIService' || !kinds.includes(kind) || !verbs.includes('list') || name.includes('/')) continue;
        const { body } = await server.get(`${path}/${name}`, { accept: table });
        const columns = body.columnDefinitions as readonly { name: string }[];
        expect(columns.map((column) => column.name)).to.include('Name');
      }
    });
  }

  it('do not include kinds that need nodes, such as pods: requests for them get 404 [spec operators-absent-kinds]', async () => {
    for (const path of absent) expectRefusal(await server.get(path), { reason: 'NotFound' });
    const { body } = await server.get('/apis');
    const groups = (body.groups as readonly { name: string }[]).map(({ name }) => name);
    expect(groups).not.to.include.members(['apps']);
    expect(groups).not.to.include.members(['discovery.k8s.io']);
    const core = (await server.get('/api/v1')).body.resources as readonly ApiResource[];
    expect(core.map(({ kind }) => kind)).not.to.include.members(['Pod']);
  });
});
