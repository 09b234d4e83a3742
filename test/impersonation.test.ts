import { expect } from 'chai';
import { person, persons } from './support/models/models.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };

describe('a request that runs as another user', () => {
  let server: TestServer;

  /** Returns the user whom the server sees for a request with the given headers. */
  const whoIs = async (headers: Readonly<Record<string, string | string[]>>): Promise<unknown> => {
    const { status, body } = await server.post(reviews, review, { headers: headers as Record<string, string> });
    expect(status, JSON.stringify(body)).to.equal(201);
    return body.status.userInfo;
  };

  before(async () => {
    server = await TestServer.start();
  });

  after(() => server.stop());

  it('has the name, groups, uid and extra values of its headers', async () => {
    const user = await whoIs({
      'Impersonate-User': 'ada',
      'Impersonate-Group': ['system:masters', 'a, b'],
      'Impersonate-Uid': 'u-1',
      'Impersonate-Extra-Scopes': ['read', 'write'],
      'Impersonate-Extra-acme.example%2fteam': 'one',
    });
    expect(user).to.deep.equal({
      username: 'ada',
      groups: ['system:masters', 'a, b', 'system:authenticated'],
      uid: 'u-1',
      extra: { scopes: ['read', 'write'], 'acme.example/team': ['one'] },
    });
  });

  it('has exactly the permissions of the impersonated user', async () => {
    const refusal = {
      reason: 'Forbidden',
      message:
        'persons.people.example.com is forbidden: User "eve" cannot list resource "persons" in API group "people.example.com" at the cluster scope',
    } as const;
    expectRefusal(await server.get(persons, { 'Impersonate-User': 'eve' }), refusal);
    const headers = { 'Impersonate-User': 'eve', 'Impersonate-Group': 'system:masters' };
    expect((await server.get(persons, headers)).status).to.equal(200);
  });

  it('as a service account: has the groups that its headers name, and not those of the service account', async () => {
    const refused = await server.post(reviews, review, {
      headers: { 'Impersonate-User': 'system:serviceaccount:shop:bot', 'Impersonate-Group': 'system:masters' },
    });
    expect(refused.body.status.userInfo.groups).to.deep.equal(['system:masters', 'system:authenticated']);
  });

  it('is refused when an Impersonate header is unknown, the header with the user is missing or repeated, or there are more than 100 groups and extra values', async () => {
    const bad = { reason: 'BadRequest' } as const;
    for (const name of ['Group', 'Uid', 'Extra-scopes']) {
      const answer = await server.get(persons, { [`Impersonate-${name}`]: 'eve' });
      expectRefusal(answer, { ...bad, message: 'needs Impersonate-User' });
    }
    const unknown = { 'Impersonate-User': 'eve', 'Impersonate-Role': 'x' };
    expectRefusal(await server.get(persons, unknown), { ...bad, message: 'the header Impersonate-Role is unknown' });
    const twice = { 'Impersonate-User': ['eve', 'ada'] } as unknown as Record<string, string>;
    expectRefusal(await server.get(persons, twice), { ...bad, message: 'may be sent only once' });
    const many = { 'Impersonate-User': 'eve', 'Impersonate-Group': Array.from({ length: 101 }, () => 'g') };
    expectRefusal(await server.get(persons, many as unknown as Record<string, string>), {
      ...bad,
      message: 'at most 100',
    });
  });

  it('gets 401 without credentials, and is accepted with the credentials of an administrator', async () => {
    const closed = await TestServer.start({ token: 'administrators-token' });
    const authorization = 'Bearer administrators-token';
    try {
      const answer = await closed.get('/export', { 'Impersonate-User': 'eve' });
      expectRefusal(answer, { reason: 'Unauthorized', message: 'Unauthorized' });
      const allowed = { authorization, 'Impersonate-User': 'eve', 'Impersonate-Group': 'system:masters' };
      expect((await closed.get('/export', allowed)).status).to.equal(200);
    } finally {
      await closed.stop();
    }
  });

  it('gets 403 and has no effect when its sender may not impersonate that user or service account', async () => {
    const closed = await TestServer.start({ token: 'administrators-token' });
    const admin = { headers: { authorization: 'Bearer administrators-token' } };
    try {
      const robots = '/api/v1/namespaces/default/serviceaccounts';
      await closed.post(robots, { metadata: { name: 'robot' } }, admin);
      const { body } = await closed.post(`${robots}/robot/token`, { spec: {} }, admin);
      const authorization = `Bearer ${body.status.token}`;
      const robot = 'system:serviceaccount:default:robot';
      const masters = { 'Impersonate-User': robot, 'Impersonate-Group': 'system:masters' };
      for (const [headers, resource] of [
        [{ 'Impersonate-User': 'admin' }, 'users'],
        [masters, 'serviceaccounts'],
      ] as const) {
        const answer = await closed.post(persons, person('ann'), { headers: { authorization, ...headers } });
        const message = `User "${robot}" cannot impersonate resource "${resource}"`;
        expectRefusal(answer, { reason: 'Forbidden', message });
      }
      expect((await closed.get(persons, admin.headers)).body.items).to.deep.equal([]);
    } finally {
      await closed.stop();
    }
  });

  it('may read health checks', async () => {
    expect((await server.get('/livez', { 'Impersonate-User': 'eve' })).status).to.equal(200);
  });

  it('gets an error that repeats only the beginning of a long header name', async () => {
    const { body } = await server.get(persons, { [`Impersonate-${'x'.repeat(8000)}`]: 'y' });
    expect(body).to.include({ code: 400 });
    expect(body.message).to.have.length.below(400);
  });
});
