import { expect } from 'chai';
import { createNamespaces } from '../support/models/namespaces.ts';
import { TestServer } from '../support/servers/test-server.ts';
import { decisions, reviewOf } from './decisions.ts';
import type { Decisions } from './decisions.ts';

const group = 'rbac.authorization.k8s.io';
const rbac = `/apis/${group}/v1`;
const reviews = '/apis/authorization.k8s.io/v1/subjectaccessreviews';

describe('decisions by roles [compat rbac]', () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start();
    await createNamespaces(server.api.client, ['home', 'away']);
  });
  after(() => server.stop());

  /** Grants a rule to a subject, and returns a function that revokes the grant. */
  async function grant({
    rule,
    boundIn,
    subject = { kind: 'User', name: 'ann' },
  }: Decisions): Promise<() => Promise<void>> {
    await server.create(`${rbac}/clusterroles`, { metadata: { name: 'tested' }, rules: [rule] });
    const path = boundIn === undefined ? `${rbac}/clusterrolebindings` : `${rbac}/namespaces/${boundIn}/rolebindings`;
    const roleRef = { kind: 'ClusterRole', name: 'tested' };
    await server.create(path, { metadata: { name: 'tested' }, roleRef, subjects: [subject] });
    return async () => {
      await server.delete(`${path}/tested`);
      await server.delete(`${rbac}/clusterroles/tested`);
    };
  }

  async function decide(spec: object): Promise<{ readonly allowed: boolean; readonly reason: string }> {
    const { status } = await server.create(reviews, { spec });
    return status;
  }

  for (const each of decisions) {
    it(each.title, async () => {
      const takeBack = await grant(each);
      for (const { ask, allowed } of each.questions) {
        const decision = await decide(reviewOf(ask, each));
        expect(decision.allowed, `${ask}: ${decision.reason}`).to.equal(allowed);
        expect(decision.reason !== '', ask).to.equal(allowed);
      }
      await takeBack();
      if (each.groups?.includes('system:masters') === true) return;
      for (const { ask } of each.questions) expect((await decide(reviewOf(ask, each))).allowed, ask).to.equal(false);
    });
  }

  it('name the binding in their reason, as in Kubernetes', async () => {
    const [first] = decisions as readonly [Decisions];
    const takeBack = await grant(first);
    const asked = reviewOf('get persons.people.example.com', {});
    expect((await decide(asked)).reason).to.equal(
      'RBAC: allowed by ClusterRoleBinding "tested" of ClusterRole "tested" to User "ann"',
    );
    await takeBack();
    const takeBackHere = await grant({ ...first, boundIn: 'home', subject: { kind: 'ServiceAccount', name: 'bot' } });
    const user = 'system:serviceaccount:home:bot';
    expect((await decide(reviewOf('get persons.people.example.com in home', { user }))).reason).to.equal(
      'RBAC: allowed by RoleBinding "tested/home" of ClusterRole "tested" to ServiceAccount "bot/home"',
    );
    await takeBackHere();
  });

  it('follow changes of a ClusterRole, of a Role in the namespace, and of roles that are aggregated by labels', async () => {
    const takeBack = await grant({
      title: '',
      rule: { verbs: ['get'], apiGroups: [''], resources: ['events'] },
      questions: [],
    });
    const rules = [{ verbs: ['list'], apiGroups: [''], resources: ['events'] }];
    await server.patch(`${rbac}/clusterroles/tested`, { rules });
    expect((await decide(reviewOf('get events', {}))).allowed).to.equal(false);
    expect((await decide(reviewOf('list events', {}))).allowed).to.equal(true);
    const collected = { clusterRoleSelectors: [{ matchLabels: { tested: 'yes' } }] };
    await server.patch(`${rbac}/clusterroles/tested`, { aggregationRule: collected });
    expect((await decide(reviewOf('list events', {}))).allowed).to.equal(false);
    await server.create(`${rbac}/clusterroles`, { metadata: { name: 'part', labels: { tested: 'yes' } }, rules });
    expect((await decide(reviewOf('list events', {}))).allowed).to.equal(true);
    await server.patch(`${rbac}/clusterroles/part`, { metadata: { labels: { tested: 'no' } } });
    expect((await decide(reviewOf('list events', {}))).allowed).to.equal(false);
    await takeBack();

    await server.create(`${rbac}/namespaces/home/roles`, { metadata: { name: 'own' }, rules });
    const own = {
      metadata: { name: 'own' },
      roleRef: { kind: 'Role', name: 'own' },
      subjects: [{ kind: 'User', name: 'ann' }],
    };
    await server.create(`${rbac}/namespaces/home/rolebindings`, own);
    await server.create(`${rbac}/namespaces/away/rolebindings`, own);
    expect((await decide(reviewOf('list events in home', {}))).allowed).to.equal(true);
    expect((await decide(reviewOf('list events in away', {}))).allowed).to.equal(false);
    await server.create(`${rbac}/namespaces/away/roles`, { metadata: { name: 'own' }, rules });
    expect((await decide(reviewOf('list events in away', {}))).allowed).to.equal(true);
  });
});
