import { expect } from 'chai';
import { createNamespaces } from '../support/models/namespaces.ts';
import { expectRefusal } from '../support/servers/refusal.ts';
import { TestServer } from '../support/servers/test-server.ts';
import type { Answer } from '../support/servers/test-server.ts';

const group = 'rbac.authorization.k8s.io';
const rbac = `/apis/${group}/v1`;
const clusterRoles = `${rbac}/clusterroles`;
const clusterBindings = `${rbac}/clusterrolebindings`;
const roles = `${rbac}/namespaces/home/roles`;
const bindings = `${rbac}/namespaces/home/rolebindings`;
const asAnn = { headers: { 'impersonate-user': 'ann' } };

const rule = (verbs: readonly string[], resources: readonly string[], apiGroup = ''): object => ({
  verbs,
  apiGroups: [apiGroup],
  resources,
});
const writeRoles = rule(
  ['create', 'update', 'patch', 'delete', 'get'],
  ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'],
  group,
);
const readEvents = rule(['get', 'list'], ['events']);
const readSecrets = rule(['get'], ['secrets']);

describe('a user who may write roles', () => {
  let server: TestServer;
  let names = 0;

  beforeEach(async () => {
    server = await TestServer.start();
    await createNamespaces(server.api.client, ['home', 'away']);
    await grant(writeRoles, readEvents);
  });
  afterEach(() => server.stop());

  /** Grants rules to ann in the whole cluster. */
  async function grant(...rules: readonly object[]): Promise<void> {
    const name = `given-${(names += 1)}`;
    await server.create(clusterRoles, { metadata: { name }, rules });
    const roleRef = { kind: 'ClusterRole', name };
    await server.create(clusterBindings, { metadata: { name }, roleRef, subjects: [{ kind: 'User', name: 'ann' }] });
  }

  const role = (name: string, ...rules: readonly object[]): object => ({ metadata: { name }, rules });
  const binding = (name: string, kind: string, of: string): object => ({
    metadata: { name },
    roleRef: { kind, name: of },
    subjects: [{ kind: 'User', name: 'ann' }],
  });
  const expectEscalation = (answer: Answer): void =>
    expectRefusal(answer, {
      reason: 'Forbidden',
      message: 'is attempting to grant RBAC permissions not currently held',
    });

  it('may grant permissions that the user has, and otherwise gets 403 with the missing permissions', async () => {
    expect((await server.post(roles, role('events', rule(['get'], ['events'])), asAnn)).status).to.equal(201);
    const wanted = role('more', rule(['get', 'watch', 'list'], ['events', 'secrets']), {
      verbs: ['get'],
      nonResourceURLs: ['/metrics'],
    });
    const answer = await server.post(clusterRoles, wanted, asAnn);
    expectRefusal(answer, { reason: 'Forbidden', details: { name: 'more', group, kind: 'clusterroles' } });
    expect(answer.body.message).to.equal(
      [
        'clusterroles.rbac.authorization.k8s.io "more" is forbidden: user "ann" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:',
        '{APIGroups:[""], Resources:["events"], Verbs:["watch"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "watch" "list"]}',
        '{NonResourceURLs:["/metrics"], Verbs:["get"]}',
      ].join('\n'),
    );
    expect((await server.get(`${clusterRoles}/more`)).status).to.equal(404);
  });

  it('cannot add permissions that the user lacks to a role, by update, patch, JSON patch or apply, also in a dry run', async () => {
    await server.create(roles, role('mine', readEvents));
    const path = `${roles}/mine`;
    expectEscalation(await server.put(path, role('mine', readEvents, readSecrets), asAnn));
    expectEscalation(await server.patch(path, { rules: [readSecrets] }, asAnn));
    const json = { ...asAnn, type: 'application/json-patch+json' };
    expectEscalation(await server.patch(path, [{ op: 'add', path: '/rules/-', value: readSecrets }], json));
    const apply = { ...asAnn, type: 'application/apply-patch+yaml' };
    const applied = { apiVersion: `${group}/v1`, kind: 'Role', ...role('mine', readSecrets) };
    expectEscalation(await server.patch(`${path}?fieldManager=t&force=true`, applied, apply));
    const other = { ...applied, metadata: { name: 'new' } };
    expectEscalation(await server.patch(`${roles}/new?fieldManager=t`, other, apply));
    expectEscalation(await server.put(`${path}?dryRun=All`, role('mine', readSecrets), asAnn));
    expect((await server.get(path)).body.rules).to.deep.equal([readEvents]);
    expect((await server.patch(path, { rules: [rule(['list'], ['events'])] }, asAnn)).status).to.equal(200);
  });

  it('cannot change a role that contains permissions that the user does not have, but may delete the role', async () => {
    await server.create(roles, { ...role('rich', readSecrets), metadata: { name: 'rich', finalizers: ['a.com/b'] } });
    expectEscalation(await server.patch(`${roles}/rich`, { metadata: { labels: { a: 'b' } } }, asAnn));
    expect((await server.delete(`${roles}/rich`, asAnn)).status).to.equal(200);
    expect((await server.patch(`${roles}/rich`, { metadata: { finalizers: [] } }, asAnn)).status).to.equal(200);
    expect((await server.get(`${roles}/rich`)).status).to.equal(404);
  });

  it('may bind only roles whose permissions the user has', async () => {
    expectEscalation(await server.post(clusterBindings, binding('a', 'ClusterRole', 'cluster-admin'), asAnn));
    expectEscalation(await server.post(bindings, binding('a', 'ClusterRole', 'edit'), asAnn));
    expectRefusal(await server.post(bindings, binding('a', 'Role', 'none'), asAnn), { reason: 'NotFound' });
    await server.create(roles, role('events', readEvents));
    expect((await server.post(bindings, binding('a', 'Role', 'events'), asAnn)).status).to.equal(201);
    await server.create(bindings, binding('edit', 'ClusterRole', 'edit'));
    expect((await server.post(bindings, binding('b', 'ClusterRole', 'edit'), asAnn)).status, 'in home').to.equal(201);
    const away = bindings.replace('home', 'away');
    expectEscalation(await server.post(away, binding('b', 'ClusterRole', 'edit'), asAnn));
    expectEscalation(await server.post(clusterBindings, binding('b', 'ClusterRole', 'edit'), asAnn));
  });

  it('may grant permissions that the user lacks, if a rule allows escalate and bind, but only through the roles that this rule names', async () => {
    await server.create(clusterRoles, role('named'));
    await grant({ ...rule(['escalate', 'bind'], ['clusterroles'], group), resourceNames: ['named'] });
    expectEscalation(await server.post(clusterRoles, role('other', readSecrets), asAnn));
    expect((await server.patch(`${clusterRoles}/named`, { rules: [readSecrets] }, asAnn)).status).to.equal(200);
    expectEscalation(await server.post(clusterBindings, binding('a', 'ClusterRole', 'view'), asAnn));
    expect((await server.post(clusterBindings, binding('a', 'ClusterRole', 'named'), asAnn)).status).to.equal(201);
    await grant(rule(['escalate'], ['roles'], group));
    expect((await server.post(roles, role('other', readSecrets), asAnn)).status).to.equal(201);
  });

  it('may write roles with an aggregationRule only with the permissions of cluster-admin', async () => {
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] };
    const collecting = { metadata: { name: 'collecting' }, aggregationRule, rules: [] };
    const refusal = {
      reason: 'Forbidden',
      message: 'must have cluster-admin privileges to use an aggregationRule',
    } as const;
    expectRefusal(await server.post(clusterRoles, collecting, asAnn), refusal);
    await server.create(clusterRoles, collecting);
    expectRefusal(await server.patch(`${clusterRoles}/collecting`, { aggregationRule: null }, asAnn), refusal);
    // The user has all permissions in this role, so the user may create it.
    const part = { metadata: { name: 'part', labels: { a: 'b' } }, rules: [readEvents] };
    expect((await server.post(clusterRoles, part, asAnn)).status).to.equal(201);
    expectEscalation(await server.patch(`${clusterRoles}/part`, { rules: [readSecrets] }, asAnn));
    await grant(rule(['*'], ['*'], '*'), { verbs: ['*'], nonResourceURLs: ['*'] });
    expect(
      (await server.patch(`${clusterRoles}/collecting`, { metadata: { labels: { x: 'y' } } }, asAnn)).status,
    ).to.equal(200);
  });

  it('gets 403 for a role with a million permissions, because at most 10,000 can be compared', async () => {
    const many = (letter: string): string[] => Array.from({ length: 100 }, (_each, at) => `${letter}${at}`);
    const huge = { verbs: many('v'), apiGroups: many('g'), resources: many('r') };
    expectRefusal(await server.post(roles, role('huge', huge), asAnn), {
      reason: 'Forbidden',
      message: 'is attempting to grant 1000000 RBAC permissions, and at most 10000 can be compared',
    });
    expect((await server.post(roles, role('huge', huge))).status, 'for masters').to.equal(201);
  });
});
