import { expect } from 'chai';
import type { ApiServer } from './api-server.ts';
import { SharedDatabase, startDeaf } from './shared-database.fixture.ts';

const admin = 'correct-horse-battery-staple';
const apiGroup = 'rbac.authorization.k8s.io';
const rbac = `/apis/${apiGroup}/v1`;
const accounts = '/api/v1/namespaces/default/serviceaccounts';

describe('the permission to impersonate, on replicas that receive no hints of changes', () => {
  let database: SharedDatabase;
  let servers: readonly [ApiServer, ApiServer];

  beforeEach(async () => {
    database = new SharedDatabase();
    servers = [await startDeaf(database, { token: admin }), await startDeaf(database, { token: admin })];
  });

  afterEach(async () => {
    await Promise.all(servers.map(async (server) => server.stop()));
    await database.close();
  });

  async function send(replica: 0 | 1, path: string, sent: Sent = {}): Promise<Received> {
    const { method = 'GET', token = admin, headers = {}, body } = sent;
    const response = await fetch(servers[replica].url + path, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Received['body'] };
  }

  it('depends on all writes that any replica acknowledged before the request', async () => {
    await send(0, accounts, { method: 'POST', body: { metadata: { name: 'robot' } } });
    const { body } = await send(0, `${accounts}/robot/token`, { method: 'POST', body: { spec: {} } });
    const token = body.status?.token ?? '';
    const rules = [{ verbs: ['impersonate'], apiGroups: [''], resources: ['users'], resourceNames: ['bob'] }];
    await send(0, `${rbac}/clusterroles`, {
      method: 'POST',
      body: { apiVersion: `${apiGroup}/v1`, kind: 'ClusterRole', metadata: { name: 'as-bob' }, rules },
    });
    const binding = {
      apiVersion: `${apiGroup}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'as-bob' },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'as-bob' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'robot' }],
    };
    const asBob = async (): Promise<number> =>
      (await send(1, '/apis', { token, headers: { 'impersonate-user': 'bob' } })).status;
    for (let round = 0; round < 5; round += 1) {
      expect(await asBob(), `${round}: before`).to.equal(403);
      expect((await send(0, `${rbac}/clusterrolebindings`, { method: 'POST', body: binding })).status).to.equal(201);
      expect(await asBob(), `${round}: granted`).to.equal(200);
      await send(0, `${rbac}/clusterrolebindings/as-bob`, { method: 'DELETE' });
      expect(await asBob(), `${round}: withdrawn`).to.equal(403);
    }
  });
});

interface Sent {
  readonly method?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

interface Received {
  readonly status: number;
  readonly body: { readonly status?: { readonly token?: string } };
}
