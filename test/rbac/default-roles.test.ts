import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { expectRefusal } from '../support/servers/refusal.ts';
import { TestServer } from '../support/servers/test-server.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const clusterRoles = `${rbac}/clusterroles`;
const clusterBindings = `${rbac}/clusterrolebindings`;
const rulesReviews = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
const readWidgets = { verbs: ['get'], apiGroups: ['example.com'], resources: ['widgets'] };

interface Rule {
  readonly verbs: readonly string[];
  readonly resources?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

describe('the default roles', () => {
  let folder: string;
  let server: TestServer;
  const start = async (): Promise<void> => {
    server = await TestServer.start({ database: `sqlite:${folder}/test.db` });
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-roles-'));
    await start();
  });
  afterEach(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  const rulesOf = async (name: string): Promise<readonly Rule[]> => {
    const { rules } = (await server.get(`${clusterRoles}/${name}`)).body;
    return rules as readonly Rule[];
  };
  const verbsOn = (rules: readonly Rule[], resource: string): readonly string[] =>
    rules.filter(({ resources = [] }) => resources.includes(resource)).flatMap(({ verbs }) => verbs);

  it('exist from the first request on; edit includes the rules of view, and admin those of edit', async () => {
    const [view, edit, admin] = [await rulesOf('view'), await rulesOf('edit'), await rulesOf('admin')];
    expect(verbsOn(view, 'configmaps')).to.have.members(['get', 'list', 'watch']);
    expect(verbsOn(view, 'secrets')).to.deep.equal([]);
    expect(verbsOn(edit, 'secrets')).to.include.members(['get', 'create', 'deletecollection']);
    expect(verbsOn(edit, 'roles')).to.deep.equal([]);
    expect(verbsOn(admin, 'roles')).to.include.members(['get', 'create', 'update']);
    expect(admin).to.deep.include.members([...edit]);
    expect(edit).to.deep.include.members([...view]);
    expect(await rulesOf('cluster-admin')).to.deep.equal([
      { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
      { verbs: ['*'], nonResourceURLs: ['*'] },
    ]);
  });

  it('let a user with the role `view` in a namespace read this Namespace and its subresources, but no other Namespace', async () => {
    await server.create('/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
      metadata: { name: 'reader' },
      roleRef: { kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'User', name: 'reader' }],
    });
    const headers = { 'impersonate-user': 'reader' };
    for (const part of ['', '/history', '/explanation', '/dependents']) {
      expect((await server.get(`/api/v1/namespaces/default${part}`, headers)).status, part).to.equal(200);
      expectRefusal(await server.get(`/api/v1/namespaces/kube-system${part}`, headers), { reason: 'Forbidden' });
    }
  });

  it('allow every authenticated user only discovery, the documentation of the API, and reviews about the user itself', async () => {
    const headers = { 'impersonate-user': 'ann' };
    for (const path of ['/api', '/apis', '/apis/rbac.authorization.k8s.io/v1', '/openapi/v3', '/version', '/docs'])
      expect((await server.get(path, headers)).status, path).to.equal(200);
    for (const path of ['/metrics', '/export', '/debug/x', clusterRoles, '/api/v1/namespaces/default'])
      expectRefusal(await server.get(path, headers), { reason: 'Forbidden' });
    const { body } = await server.post(rulesReviews, { spec: { namespace: 'default' } }, { headers });
    const { resourceRules, nonResourceRules } = body.status as Record<string, readonly Rule[]>;
    expect(resourceRules?.flatMap(({ resources = [] }) => resources)).to.have.members([
      'selfsubjectaccessreviews',
      'selfsubjectrulesreviews',
      'selfsubjectreviews',
    ]);
    expect(nonResourceRules?.flatMap(({ nonResourceURLs = [] }) => nonResourceURLs)).to.include.members(['/apis/*']);
    expectRefusal(await server.post(rulesReviews, { spec: {} }, { headers }), {
      reason: 'BadRequest',
      message: 'no namespace on request',
    });
  });

  it('view, edit and admin include the rules of a role with the label aggregate-to-view until the role is deleted', async () => {
    const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' };
    await server.create(clusterRoles, { metadata: { name: 'widgets', labels }, rules: [readWidgets] });
    for (const name of ['view', 'edit', 'admin'])
      await eventually(async () => (await rulesOf(name)).some((rule) => verbsOn([rule], 'widgets').length > 0));
    await server.delete(`${clusterRoles}/widgets`);
    for (const name of ['view', 'edit', 'admin'])
      await eventually(async () => (await rulesOf(name)).every((rule) => verbsOn([rule], 'widgets').length === 0));
  });

  it('are repaired at the next start: missing rules are restored, and added rules stay [slow]', async () => {
    await server.patch(`${clusterRoles}/system:basic-user`, { rules: [readWidgets] });
    await server.delete(`${clusterRoles}/edit`);
    await server.patch(`${clusterBindings}/system:discovery`, { subjects: [{ kind: 'User', name: 'ann' }] });
    await server.delete(`${clusterBindings}/cluster-admin`);
    const roleRef = { kind: 'ClusterRole', name: 'view' };
    await server.create(clusterBindings, { metadata: { name: 'cluster-admin' }, roleRef });
    await server.stop();
    await start();
    const basic = await rulesOf('system:basic-user');
    expect(basic[0]).to.deep.equal(readWidgets);
    expect(verbsOn(basic, 'selfsubjectreviews')).to.deep.equal(['create']);
    expect(verbsOn(await rulesOf('edit'), 'secrets')).to.not.be.empty;
    const { subjects } = (await server.get(`${clusterBindings}/system:discovery`)).body;
    expect(subjects.map(({ name }: { name: string }) => name)).to.deep.equal(['ann', 'system:authenticated']);
    expect((await server.get(`${clusterBindings}/cluster-admin`)).body.roleRef.name).to.equal('cluster-admin');
  });

  it('are not written at a start if no default rule is missing, or if they have the annotation autoupdate: false [slow]', async () => {
    const annotations = { 'rbac.authorization.kubernetes.io/autoupdate': 'false' };
    await server.patch(`${clusterRoles}/system:basic-user`, { metadata: { annotations }, rules: [] });
    const revision = await server.revision(clusterRoles);
    await server.stop();
    await start();
    expect(await rulesOf('system:basic-user')).to.deep.equal([]);
    expect(await server.revision(clusterRoles)).to.equal(revision);
  });

  it('do not limit members of system:masters, who need no role', async () => {
    for (const path of [clusterBindings, clusterRoles]) await server.delete(path);
    expect((await server.get(clusterRoles)).body.items).to.deep.equal([]);
    const { body } = await server.post(rulesReviews, { spec: { namespace: 'default' } });
    expect(body.status.resourceRules).to.deep.equal([{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]);
  });
});
