import { expect } from 'chai';
import { createNamespaces } from '../support/models/namespaces.ts';
import { expectRefusal } from '../support/servers/refusal.ts';
import { TestServer } from '../support/servers/test-server.ts';

const group = 'rbac.authorization.k8s.io';
const rbac = `/apis/${group}/v1`;
const paths = {
  role: `${rbac}/namespaces/home/roles`,
  clusterRole: `${rbac}/clusterroles`,
  binding: `${rbac}/namespaces/home/rolebindings`,
  clusterBinding: `${rbac}/clusterrolebindings`,
};
const rule = { verbs: ['get'], apiGroups: [''], resources: ['events'] };
const roleRef = { apiGroup: group, kind: 'ClusterRole', name: 'view' };
const user = { kind: 'User', name: 'ann' };

interface Broken {
  readonly at: keyof typeof paths;
  readonly object: object;
  readonly causes: readonly string[];
  readonly message: string;
}

const required = 'FieldValueRequired';
const invalid = 'FieldValueInvalid';
const unsupported = 'FieldValueNotSupported';

const broken: Readonly<Record<string, Broken>> = {
  'a rule without verbs': {
    at: 'role',
    object: { rules: [{ ...rule, verbs: [] }] },
    causes: [`${required} rules[0].verbs`],
    message: 'rules[0].verbs: Required value: verbs must contain at least one value',
  },
  'a rule without groups and resources': {
    at: 'clusterRole',
    object: { rules: [rule, { verbs: ['get'] }] },
    causes: [`${required} rules[1].apiGroups`, `${required} rules[1].resources`],
    message: 'rules[1].resources: Required value: resource rules must supply at least one resource',
  },
  'a path in a Role': {
    at: 'role',
    object: { rules: [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }] },
    causes: [`${invalid} rules[0].nonResourceURLs`],
    message: 'namespaced rules cannot apply to non-resource URLs',
  },
  'a path beside resources': {
    at: 'clusterRole',
    object: { rules: [{ ...rule, nonResourceURLs: ['/metrics'] }] },
    causes: [`${invalid} rules[0].nonResourceURLs`],
    message: 'rules cannot apply to both regular resources and non-resource URLs',
  },
  'an aggregation without selectors': {
    at: 'clusterRole',
    object: { aggregationRule: { clusterRoleSelectors: [] } },
    causes: [`${required} aggregationRule.clusterRoleSelectors`],
    message: 'at least one clusterRoleSelector required if aggregationRule is non-nil',
  },
  'an operator that does not exist': {
    at: 'clusterRole',
    object: { aggregationRule: { clusterRoleSelectors: [{ matchExpressions: [{ key: 'a', operator: 'Is' }] }] } },
    causes: [`${invalid} aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator`],
    message: 'not a valid selector operator',
  },
  'a binding without a role': {
    at: 'binding',
    object: { subjects: [user] },
    causes: [`${unsupported} roleRef.apiGroup`, `${unsupported} roleRef.kind`, `${required} roleRef.name`],
    message: 'roleRef.kind: Unsupported value: "": supported values: "ClusterRole", "Role"',
  },
  'a role of another group': {
    at: 'binding',
    object: { roleRef: { ...roleRef, apiGroup: 'example.com' } },
    causes: [`${unsupported} roleRef.apiGroup`],
    message: `roleRef.apiGroup: Unsupported value: "example.com": supported values: "${group}"`,
  },
  'a ClusterRoleBinding of a Role': {
    at: 'clusterBinding',
    object: { roleRef: { ...roleRef, kind: 'Role' } },
    causes: [`${unsupported} roleRef.kind`],
    message: 'supported values: "ClusterRole"',
  },
  'a role with a slash': {
    at: 'binding',
    object: { roleRef: { ...roleRef, name: 'a/b' } },
    causes: [`${invalid} roleRef.name`],
    message: "may not contain '/'",
  },
  'a subject of an unknown kind': {
    at: 'binding',
    object: { roleRef, subjects: [{ kind: 'Robot', name: 'a' }] },
    causes: [`${unsupported} subjects[0].kind`],
    message: 'supported values: "Group", "ServiceAccount", "User"',
  },
  'a user of another group': {
    at: 'binding',
    object: { roleRef, subjects: [{ ...user, apiGroup: 'example.com' }] },
    causes: [`${unsupported} subjects[0].apiGroup`],
    message: `supported values: "${group}"`,
  },
  'a subject without a name': {
    at: 'binding',
    object: { roleRef, subjects: [user, { kind: 'Group' }] },
    causes: [`${required} subjects[1].name`],
    message: 'subjects[1].name: Required value',
  },
  'a service account without a namespace, for the cluster': {
    at: 'clusterBinding',
    object: { roleRef, subjects: [{ kind: 'ServiceAccount', name: 'bot' }] },
    causes: [`${required} subjects[0].namespace`],
    message: 'subjects[0].namespace: Required value',
  },
  'a service account with a group': {
    at: 'binding',
    object: { roleRef, subjects: [{ kind: 'ServiceAccount', name: 'bot', apiGroup: group }] },
    causes: [`${unsupported} subjects[0].apiGroup`],
    message: 'supported values: ""',
  },
  'a name with a percent sign': {
    at: 'clusterRole',
    object: { metadata: { name: 'a%2Fb' }, rules: [] },
    causes: [`${invalid} metadata.name`],
    message: "may not contain '%'",
  },
  'verbs that are not a list': {
    at: 'role',
    object: { rules: [{ ...rule, verbs: 'get' }] },
    causes: ['FieldValueTypeInvalid rules[0].verbs'],
    message: 'rules[0].verbs',
  },
};

describe('roles and bindings', () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start();
    await createNamespaces(server.api.client, ['home']);
  });
  after(() => server.stop());

  for (const [title, { at, object, causes, message }] of Object.entries(broken)) {
    it(`are refused with ${title}, and nothing is stored`, async () => {
      const before = await server.revision(paths[at]);
      const sent = { metadata: { name: 'broken' }, ...object };
      expectRefusal(await server.post(paths[at], sent), { reason: 'Invalid', causes, message });
      expect(await server.revision(paths[at])).to.equal(before);
    });
  }

  it('may have names with colons and upper case; paths may contain these characters unchanged or encoded', async () => {
    await server.create(paths.clusterRole, { metadata: { name: 'Team:a' }, rules: [rule] });
    expect((await server.get(`${paths.clusterRole}/Team:a`)).body.rules).to.deep.equal([rule]);
    expect((await server.get(`${paths.clusterRole}/Team%3Aa`)).status).to.equal(200);
    expect((await server.delete(`${paths.clusterRole}/Team:a`)).status).to.equal(200);
  });

  it('store rbac.authorization.k8s.io as the apiGroup of a roleRef and of a User when a request omits it', async () => {
    const sent = { metadata: { name: 'short' }, roleRef: { kind: 'ClusterRole', name: 'view' }, subjects: [user] };
    const { roleRef: stored, subjects } = await server.create(paths.binding, sent);
    expect(stored).to.deep.equal(roleRef);
    expect(subjects).to.deep.equal([{ ...user, apiGroup: group }]);
    expect((await server.put(`${paths.binding}/short`, sent)).body.metadata.version).to.equal(1);
  });

  it('refuse a change of roleRef in an existing binding, by PUT, PATCH and apply', async () => {
    await server.create(paths.binding, { metadata: { name: 'kept' }, roleRef, subjects: [user] });
    const next = { metadata: { name: 'kept' }, roleRef: { ...roleRef, name: 'edit' }, subjects: [user] };
    const refusal = { reason: 'Invalid', causes: [`${invalid} roleRef`], message: 'cannot change roleRef' } as const;
    expectRefusal(await server.put(`${paths.binding}/kept`, next), refusal);
    expectRefusal(await server.patch(`${paths.binding}/kept`, { roleRef: { name: 'edit' } }), refusal);
    const type = 'application/apply-patch+yaml';
    const applied = { apiVersion: `${group}/v1`, kind: 'RoleBinding', ...next };
    const path = `${paths.binding}/kept?fieldManager=t&force=true`;
    expectRefusal(await server.patch(path, applied, { type }), refusal);
    expect((await server.get(`${paths.binding}/kept`)).body.roleRef).to.deep.equal(roleRef);
  });

  it('appear in tables as Kubernetes shows them [spec operators-columns]', async () => {
    const subjects = [
      user,
      { kind: 'Group', name: 'staff' },
      { kind: 'ServiceAccount', name: 'bot', namespace: 'home' },
    ];
    await server.create(paths.clusterBinding, { metadata: { name: 'shown' }, roleRef, subjects });
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const { body } = await server.get(`${paths.clusterBinding}/shown`, { accept });
    expect(body.columnDefinitions.map(({ name }: { name: string }) => name)).to.deep.equal([
      'Name',
      'Role',
      'Age',
      'Users',
      'Groups',
      'ServiceAccounts',
    ]);
    const [name, role, , ...holders] = body.rows[0].cells as string[];
    expect([name, role, ...holders]).to.deep.equal(['shown', 'ClusterRole/view', 'ann', 'staff', 'home/bot']);
    const roles = await server.get(`${paths.clusterRole}/view`, { accept });
    expect(roles.body.columnDefinitions.map(({ name: each }: { name: string }) => each)).to.deep.equal([
      'Name',
      'Created At',
    ]);
  });
});
