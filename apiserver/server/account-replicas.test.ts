import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { startOn } from './api-server.ts';
import type { ApiServer } from './api-server.ts';
import { SharedDatabase } from './shared-database.fixture.ts';

const admin = 'correct-horse-battery-staple';
const accounts = '/api/v1/namespaces/default/serviceaccounts';

interface Answer {
  readonly status: number;
  readonly body: { readonly keys?: readonly object[]; readonly status?: { readonly token?: string } };
}

describe('service accounts and replicas', () => {
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

  it('accept the tokens that the other has issued, at once, and share the keys', async () => {
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
      // Once a read of the other replica shows the deletion, the token is void there, too.
      expect((await send(asked, `${accounts}/a${index}`)).status).to.equal(404);
      expect((await send(asked, '/api/v1/namespaces', { token })).status).to.equal(401);
    }
    const [first, second] = await Promise.all(servers.map(async (server) => send(server, '/openid/v1/jwks')));
    expect(first?.body.keys).to.have.length(1);
    expect(second?.body.keys).to.deep.equal(first?.body.keys);
  });
});
