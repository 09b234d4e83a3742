import { expect } from 'chai';
import fc from 'fast-check';
import { expectRefusal } from '../support/servers/refusal.ts';
import { TestServer } from '../support/servers/test-server.ts';

const group = 'rbac.authorization.k8s.io';
const users = '/apis/iam.homeostat.internal/v1alpha1/users';
const asAnn = { headers: { 'impersonate-user': 'ann' } };
const asMaster = { headers: { 'impersonate-user': 'root', 'impersonate-group': 'system:masters' } };

const all = ['devs', 'ops', 'admins', 'guests'] as const;
const allowed = ['devs', 'guests'] as const;
const isAllowed = (name: string): boolean => allowed.some((each) => each === name);

describe('a user who may write users', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
    const write = { verbs: ['*'], apiGroups: ['iam.homeostat.internal'], resources: ['users'] };
    const give = { verbs: ['impersonate'], apiGroups: [''], resources: ['groups'], resourceNames: allowed };
    await server.create(`/apis/${group}/v1/clusterroles`, { metadata: { name: 'desk' }, rules: [write, give] });
    await server.create(`/apis/${group}/v1/clusterrolebindings`, {
      metadata: { name: 'desk' },
      roleRef: { kind: 'ClusterRole', name: 'desk' },
      subjects: [{ kind: 'User', name: 'ann' }],
    });
  });
  after(async () => server.stop());

  const userIn = (name: string, groups: readonly string[]): object => ({
    apiVersion: 'iam.homeostat.internal/v1alpha1',
    kind: 'User',
    metadata: { name },
    spec: { groups },
  });

  it('may give users only groups that the writer may impersonate; otherwise the error (403) names the group', async () => {
    expect((await server.post(users, userIn('bob', ['devs', 'guests']), asAnn)).status).to.equal(201);
    expectRefusal(await server.post(users, userIn('eve', ['devs', 'admins']), asAnn), {
      reason: 'Forbidden',
      message: 'user "ann" cannot give the group "admins"',
    });
    expectRefusal(await server.post(users, userIn('eve', ['system:masters']), asAnn), { reason: 'Forbidden' });
    for (const type of ['application/merge-patch+json', 'application/apply-patch+yaml']) {
      const body = userIn('bob', ['devs', 'admins']);
      const path = `${users}/bob?fieldManager=x&force=true`;
      const sent = type.includes('apply') ? path : path.replace('&force=true', '');
      const answer = await server.request('PATCH', sent, { ...asAnn, body, type });
      expectRefusal(answer, { reason: 'Forbidden', message: 'cannot give the group "admins"' });
    }
  });

  it('may change a user whose groups it may not give: it may keep and remove these groups, but not add them again', async () => {
    expect((await server.post(users, userIn('kim', ['admins', 'ops']), asMaster)).status).to.equal(201);
    const kept = { spec: { displayName: 'Kim', groups: ['ops', 'admins', 'devs'] } };
    expect((await server.request('PATCH', `${users}/kim`, { ...asAnn, body: kept })).status).to.equal(200);
    const less = { spec: { groups: ['ops'] } };
    expect((await server.request('PATCH', `${users}/kim`, { ...asAnn, body: less })).status).to.equal(200);
    const again = { spec: { groups: ['ops', 'admins'] } };
    expect((await server.request('PATCH', `${users}/kim`, { ...asAnn, body: again })).status).to.equal(403);
    expect((await server.delete(`${users}/kim`, asAnn)).status).to.equal(200);
  });

  it('cannot add a group that the writer may not give, after any sequence of creates, updates and deletes [slow]', async () => {
    const groups = fc.subarray([...all]);
    const write = fc.record({
      name: fc.constantFrom('u1', 'u2'),
      groups,
      verb: fc.constantFrom('create', 'put', 'patch', 'delete'),
      isMaster: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 12 }), async (writes) => {
        const known = new Map<string, readonly string[]>();
        for (const { name, groups: wanted, verb, isMaster } of writes) {
          const before = known.get(name);
          const as = isMaster ? asMaster : asAnn;
          const exists = before !== undefined;
          const mayWrite = isMaster || wanted.every((each) => isAllowed(each) || before?.includes(each) === true);
          const path = verb === 'create' ? users : `${users}/${name}`;
          const method = { create: 'POST', put: 'PUT', patch: 'PATCH', delete: 'DELETE' }[verb];
          const body = verb === 'delete' ? undefined : userIn(name, wanted);
          const { status } = await server.request(method, path, { ...as, body });
          const what = `${verb} ${name} [${wanted.join()}] over [${before?.join() ?? '-'}]`;
          if (verb === 'delete') {
            expect(status, what).to.equal(exists ? 200 : 404);
            known.delete(name);
          } else if (verb === 'create' ? exists : !exists) expect(status, what).to.be.oneOf([403, 404, 409]);
          else {
            expect(status, what).to.equal(mayWrite ? (verb === 'create' ? 201 : 200) : 403);
            if (mayWrite) known.set(name, wanted);
          }
        }
        for (const name of known.keys()) await server.delete(`${users}/${name}`, asMaster);
      }),
      { numRuns: 40 },
    );
  });
});
