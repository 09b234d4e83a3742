import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { startOn } from './api-server.ts';
import type { ApiServer } from './api-server.ts';
import { SharedDatabase, startDeaf } from './shared-database.fixture.ts';

const admin = 'correct-horse-battery-staple';
const accounts = '/api/v1/namespaces/default/serviceaccounts';

interface Answer {
  readonly status: number;
  readonly body: { readonly keys?: readonly object[]; readonly status?: { readonly token?: string } };
}

describe('replicas that issue tokens of service accounts', () => {
  let database: SharedDatabase;
  let servers: readonly [ApiServer, ApiServer];

  beforeEach(async () => {
    database = new SharedDatabase();
    const options = { port: 0, clock: new FakeClock(), token: admin };
    servers = [await startOn(database.replica(), options), await startOn(database.replica(), options)];
  });

  afterEach(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await database.close();
  });

  async function send(
    server: ApiServer,
    path: string,
    { method = 'GET', token = admin, body = {} } = {},
  ): Promise<Answer> {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const sent = method === 'POST' ? { body: JSON.stringify(body) } : {};
    const response = await fetch(server.url + path, { method, headers, ...sent });
    return { status: response.status, body: (await response.json()) as Answer['body'] };
  }

  it('accept each other’s tokens immediately, refuse them once the account is deleted, and have the same keys', async () => {
    const [one, two] = servers;
    for (const [index, [issuing, asked]] of (
      [
        [one, two],
        [two, one],
      ] as const
    ).entries()) {
      await send(issuing, accounts, { method: 'POST', body: { metadata: { name: `a${index}` } } });
      const { body } = await send(issuing, `${accounts}/a${index}/token`, { method: 'POST', body: { spec: {} } });
      const token = body.status?.token ?? '';
      expect((await send(asked, '/api/v1/namespaces', { token })).status).not.to.equal(401);
      await send(issuing, `${accounts}/a${index}`, { method: 'DELETE' });
      // Once a read of the other replica shows the deletion, the other replica refuses the token.
      expect((await send(asked, `${accounts}/a${index}`)).status).to.equal(404);
      expect((await send(asked, '/api/v1/namespaces', { token })).status).to.equal(401);
    }
    const [first, second] = await Promise.all(servers.map(async (server) => send(server, '/openid/v1/jwks')));
    expect(first?.body.keys).to.have.length(1);
    expect(second?.body.keys).to.deep.equal(first?.body.keys);
  });
});

describe('replicas that receive no hints of changes', () => {
  const users = '/apis/iam.homeostat.internal/v1alpha1/users';
  const namespaces = '/api/v1/namespaces';
  const credentials: Readonly<Record<string, string>> = { authorization: `Bearer ${admin}` };
  let database: SharedDatabase;
  let servers: readonly [ApiServer, ApiServer];

  beforeEach(async () => {
    database = new SharedDatabase();
    servers = [await startDeaf(database, { token: admin }), await startDeaf(database, { token: admin })];
  });

  afterEach(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await database.close();
  });

  async function send(replica: 0 | 1, method: string, path: string, sent: Sent = {}): Promise<Response> {
    const { headers = credentials, body } = sent;
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    return fetch(servers[replica].url + path, { method, headers: { 'content-type': type, ...headers }, ...text });
  }

  const statusOf = async (headers: Readonly<Record<string, string>>): Promise<number> =>
    (await send(1, 'GET', namespaces, { headers })).status;

  it('refuse the token of a service account as soon as another replica has deleted the account', async () => {
    for (let round = 0; round < 3; round += 1) {
      await send(0, 'POST', accounts, { body: { metadata: { name: 'robot' } } });
      const issued = await send(0, 'POST', `${accounts}/robot/token`, { body: { spec: {} } });
      const { status } = (await issued.json()) as Answer['body'];
      const headers = { authorization: `Bearer ${status?.token ?? ''}` };
      expect(await statusOf(headers), `round ${round}`).to.equal(403);
      expect((await send(0, 'DELETE', `${accounts}/robot`)).status).to.equal(200);
      expect(await statusOf(headers), `round ${round}`).to.equal(401);
    }
  });

  it('use the new groups of a user for the sessions of the user, and refuse the sessions when the user is disabled', async () => {
    const kind = { apiVersion: 'iam.homeostat.internal/v1alpha1', kind: 'User' };
    expect((await send(0, 'POST', users, { body: { ...kind, metadata: { name: 'ada' } } })).status).to.equal(201);
    const password = 'correct horse battery';
    expect((await send(0, 'PUT', `${users}/ada/password`, { body: { password } })).status).to.equal(204);
    const login = await send(1, 'POST', '/login', { headers: {}, body: { user: 'ada', password } });
    expect(login.status).to.equal(204);
    const [cookie = ''] = (login.headers.get('set-cookie') ?? '').split(';');
    expect(await statusOf({ cookie })).to.equal(403);
    const give = async (spec: object): Promise<number> =>
      (await send(0, 'PATCH', `${users}/ada`, { body: { spec } })).status;
    expect(await give({ groups: ['system:masters'] })).to.equal(200);
    expect(await statusOf({ cookie })).to.equal(200);
    expect(await give({ groups: [] })).to.equal(200);
    expect(await statusOf({ cookie })).to.equal(403);
    expect(await give({ disabled: true })).to.equal(200);
    expect(await statusOf({ cookie })).to.equal(401);
  });
});

interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}
