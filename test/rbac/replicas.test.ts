import { expect } from 'chai';
import { describeTwoServers } from '../support/servers/two-servers.ts';

const group = 'rbac.authorization.k8s.io';
const rbac = `/apis/${group}/v1`;
const clusterBindings = `${rbac}/clusterrolebindings`;
const as = (user: string): Record<string, string> => ({ 'impersonate-user': user });

describeTwoServers('roles of two servers on one database', (servers) => {
  it('take effect on the other server from its next request on, both when granted and when withdrawn [slow]', async () => {
    const [first, second] = servers as readonly [(typeof servers)[number], (typeof servers)[number]];
    const rules = [{ verbs: ['list'], apiGroups: ['coordination.k8s.io'], resources: ['leases'] }];
    await first.create(`${rbac}/clusterroles`, { metadata: { name: 'leases' }, rules });
    const roleRef = { kind: 'ClusterRole', name: 'leases' };
    const leases = '/apis/coordination.k8s.io/v1/leases';
    for (let round = 0; round < 25; round += 1) {
      const [writer, reader] = round % 2 === 0 ? [first, second] : [second, first];
      const user = `user-${round}`;
      expect((await reader.get(leases, as(user))).status, 'before').to.equal(403);
      const subjects = [{ kind: 'User', name: user }];
      await writer.create(clusterBindings, { metadata: { name: user }, roleRef, subjects });
      expect((await reader.get(leases, as(user))).status, 'with the role').to.equal(200);
      await writer.delete(`${clusterBindings}/${user}`);
      expect((await reader.get(leases, as(user))).status, 'after').to.equal(403);
    }
  });

  it('a user who lost a permission on one server cannot grant it on the other server', async () => {
    const [first, second] = servers as readonly [(typeof servers)[number], (typeof servers)[number]];
    const roles = `${rbac}/clusterroles`;
    const read = { verbs: ['get'], apiGroups: [''], resources: ['secrets'] };
    const write = { verbs: ['create'], apiGroups: [group], resources: ['clusterroles'] };
    for (const [name, rule] of Object.entries({ reader: read, writer: write })) {
      await first.create(roles, { metadata: { name }, rules: [rule] });
      const roleRef = { kind: 'ClusterRole', name };
      await first.create(clusterBindings, { metadata: { name }, roleRef, subjects: [{ kind: 'User', name: 'ann' }] });
    }
    const headers = as('ann');
    const granted = await second.post(roles, { metadata: { name: 'granted' }, rules: [read] }, { headers });
    expect(granted.status, granted.text).to.equal(201);
    await first.delete(`${clusterBindings}/reader`);
    const refused = await second.post(roles, { metadata: { name: 'refused' }, rules: [read] }, { headers });
    expect(refused.body.message, refused.text).to.contain('is attempting to grant RBAC permissions not currently held');
  });

  it('allow only one of two concurrent writes when each write withdraws the permission for the other [slow]', async () => {
    const [first, second] = servers as readonly [(typeof servers)[number], (typeof servers)[number]];
    const list = { verbs: ['list'], apiGroups: ['coordination.k8s.io'], resources: ['leases'] };
    const secrets = { verbs: ['get'], apiGroups: [''], resources: ['secrets'] };
    const verbs = ['get', 'update'];
    const write = { verbs, apiGroups: [group], resources: ['clusterroles', 'clusterrolebindings'] };
    const roles = `${rbac}/clusterroles`;
    const bind = async (name: string, role: string, user: string): Promise<object> =>
      first.create(clusterBindings, {
        metadata: { name },
        roleRef: { kind: 'ClusterRole', name: role },
        subjects: [{ kind: 'User', name: user }],
      });
    await first.create(roles, { metadata: { name: 'secrets' }, rules: [secrets, write] });
    await first.create(roles, { metadata: { name: 'lists' }, rules: [list, write] });
    await bind('bob-secrets', 'secrets', 'bob');
    await bind('eva-lists', 'lists', 'eva');
    for (let round = 0; round < 15; round += 1) {
      const name = `both-${round}`;
      const role = await first.create(roles, { metadata: { name }, rules: [list] });
      const binding = (await bind(name, name, 'bob')) as { readonly subjects: readonly object[] };
      // Eva changes the subject of the binding from bob to kim. At the same time, bob adds the permission `secrets` to
      // the role of the binding. If eva's write comes first, bob loses `list`, so he may not write the role, which
      // contains `list`. If bob's write comes first, the role contains `secrets`. Eva does not have `secrets`, so she
      // may not bind the role.
      const moved = { ...binding, subjects: [{ kind: 'User', apiGroup: group, name: 'kim' }] };
      const grown = { ...role, rules: [list, secrets] };
      const answers = await Promise.all([
        first.put(`${clusterBindings}/${name}`, moved, { headers: as('eva') }),
        second.put(`${roles}/${name}`, grown, { headers: as('bob') }),
      ]);
      expect(answers.map(({ status }) => status).sort(), `round ${round}`).to.deep.equal([200, 403]);
      // The binding is deleted, so that the next round starts without permissions of this round.
      await first.delete(`${clusterBindings}/${name}`);
    }
  });

  it('both servers have the default roles, even when the servers start at the same time', async () => {
    for (const server of servers) {
      const { body } = await server.get(`${rbac}/clusterroles/view`);
      expect(body.metadata.labels).to.include({ 'kubernetes.io/bootstrapping': 'rbac-defaults' });
      expect(body.rules).to.not.be.empty;
    }
  });
});
