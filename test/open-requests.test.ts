import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { route, ServerResponse } from '@homeostat/apiserver/endpoints';
import type { RequestUser } from '@homeostat/apiserver/endpoints';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { once } from 'node:events';
import { person, persons } from './support/models/models.ts';
import { TestServer } from './support/servers/test-server.ts';

const base = '/apis/demo.example.com/v1';
const ada = { 'Impersonate-User': 'ada', 'Impersonate-Group': 'system:masters' };
const eve = { 'Impersonate-User': 'eve', 'Impersonate-Group': 'system:masters' };

describe('open requests of a user', () => {
  let server: TestServer;
  let users: RequestUser[];
  let returned: number;

  before(async () => {
    server = await TestServer.start();
    users = [];
    returned = 0;
    async function* endless(signal: AbortSignal): AsyncGenerator<string> {
      try {
        yield 'first';
        await once(signal, 'abort');
      } finally {
        returned += 1;
      }
    }
    const owned = server.api.endpoints.forOwner('demo');
    owned.add(
      route('demo.example.com/v1')
        .GET('/stream', ({ signal }) => ServerResponse.ok().stream(endless(signal)))
        .GET('/me', ({ user }) => {
          users.push(user);
          return ServerResponse.ok().json(user);
        })
        .build(),
    );
    owned.open();
  });

  after(() => server.stop());

  async function open(path: string, headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
    const call = request({ host: '127.0.0.1', port: server.port, path, headers, agent: false });
    call.end();
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    response.on('error', () => undefined);
    response.resume();
    return response;
  }

  it('end when the sessions of the user end, a watch with a 401 event; the requests of other users continue', async () => {
    const watches = [
      await server.watch(`${persons}?watch=true`, ada),
      await server.watch(`${persons}?watch=true`, eve),
    ];
    const streams = [await open(`${base}/stream`, ada), await open(`${base}/stream`, eve)];
    server.api.endSessionsOf(({ username }) => username === 'ada');
    await eventually(() => expect(watches[0]?.ended).to.equal(true));
    expect(watches[0]?.events.at(-1)).to.deep.include({ type: 'ERROR' });
    expect(watches[0]?.events.at(-1)?.object).to.include({ kind: 'Status', code: 401, reason: 'Unauthorized' });
    await eventually(() => expect(streams[0]?.closed).to.equal(true));
    await eventually(() => expect(returned).to.equal(1));
    expect(watches[1]?.ended).to.equal(false);
    expect(streams[1]?.closed).to.equal(false);
    server.api.endSessionsOf(({ username }) => username === 'eve');
    await eventually(() => expect(streams[1]?.closed).to.equal(true));
  });

  it('pass their user to endpoints of plugins', async () => {
    const { body } = await server.get(`${base}/me`, { ...ada, 'Impersonate-Uid': '7', 'Impersonate-Extra-a': 'b' });
    expect(body).to.deep.equal({ username: 'ada', groups: ['system:masters', 'system:authenticated'], uid: '7' });
    expect(users[0]).to.be.frozen;
    expect((await server.get(`${base}/me`)).body.username).to.equal('developer');
  });
});

describe('requests that need a permission', () => {
  let server: TestServer;
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const apiGroup = 'rbac.authorization.k8s.io';

  before(async () => {
    server = await TestServer.start();
    const rules = [{ apiGroups: ['people.example.com'], resources: ['persons'], verbs: ['list', 'watch', 'patch'] }];
    await server.create(`${rbac}/clusterroles`, {
      apiVersion,
      kind: 'ClusterRole',
      metadata: { name: 'watcher' },
      rules,
    });
  });

  after(() => server.stop());

  const bind = async (name: string): Promise<void> => {
    const roleRef = { apiGroup, kind: 'ClusterRole', name: 'watcher' };
    const subjects = [{ apiGroup, kind: 'User', name }];
    const body = { apiVersion, kind: 'ClusterRoleBinding', metadata: { name }, roleRef, subjects };
    await server.create(`${rbac}/clusterrolebindings`, body);
  };

  it('end, if they are watches, with an ERROR event (403) when the binding of their user is deleted; other watches continue', async () => {
    await bind('ada');
    await bind('eve');
    const watches = await Promise.all(
      ['ada', 'eve'].map((name) => server.watch(`${persons}?watch=true`, { 'Impersonate-User': name })),
    );
    expect(watches.map(({ status }) => status)).to.deep.equal([200, 200]);
    await server.delete(`${rbac}/clusterrolebindings/ada`);
    await eventually(() => expect(watches[0]?.ended).to.equal(true));
    expect(watches[0]?.events.at(-1)?.object).to.deep.include({
      kind: 'Status',
      code: 403,
      reason: 'Forbidden',
      message:
        'persons.people.example.com is forbidden: User "ada" cannot watch resource "persons" in API group "people.example.com" at the cluster scope',
    });
    const refused = await server.get(`${persons}?watch=true`, { 'Impersonate-User': 'ada' });
    expect(refused.status).to.equal(403);
    expect(watches[1]?.ended).to.equal(false);
    await server.create(persons, person('after'));
    await eventually(() => expect(watches[1]?.events.at(-1)?.object.metadata.name).to.equal('after'));
    await server.patch(`${rbac}/clusterroles/watcher`, { rules: [] });
    await eventually(() => expect(watches[1]?.ended).to.equal(true));
    expect(watches[1]?.events.at(-1)?.object).to.include({ code: 403 });
  });

  it('need the verbs create and patch when an apply creates the object', async () => {
    await bind('ben');
    const rules = [{ apiGroups: ['people.example.com'], resources: ['persons'], verbs: ['patch'] }];
    await server.patch(`${rbac}/clusterroles/watcher`, { rules });
    const headers = { 'Impersonate-User': 'ben' };
    const options = { headers, type: 'application/apply-patch+yaml' };
    const apply = (name: string): ReturnType<TestServer['patch']> =>
      server.patch(`${persons}/${name}?fieldManager=ben`, person(name), options);
    const { status, body } = await apply('absent');
    expect(status).to.equal(403);
    expect(body.message).to.include('"absent" is forbidden: User "ben" cannot create resource "persons"');
    await server.create(persons, person('present'));
    expect((await apply('present')).status).to.be.oneOf([200, 409]);
    await server.patch(`${rbac}/clusterroles/watcher`, { rules: [{ ...rules[0], verbs: ['patch', 'create'] }] });
    expect((await apply('absent')).status).to.equal(201);
  });
});
