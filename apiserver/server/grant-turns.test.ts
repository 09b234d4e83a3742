import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { startOn } from './api-server.ts';
import type { ApiServer } from './api-server.ts';
import { gate, openGates } from './gate.fixture.ts';
import { SharedDatabase } from './shared-database.fixture.ts';
import type { ReplicaStore } from './shared-database.fixture.ts';

const group = 'rbac.authorization.k8s.io';
const rbac = `/apis/${group}/v1`;

describe('a write that needs permissions, while another replica withdraws them', () => {
  let database: SharedDatabase;
  let stores: readonly [ReplicaStore, ReplicaStore];
  let servers: readonly [ApiServer, ApiServer];

  beforeEach(async () => {
    database = new SharedDatabase();
    stores = [database.replica(), database.replica()];
    const [one, two] = stores;
    servers = [await startOn(one, { port: 0 }), await startOn(two, { port: 0 })];
  });

  afterEach(async () => {
    openGates();
    await Promise.all(servers.map(async (server) => server.stop()));
    await database.close();
  });

  async function send(replica: 0 | 1, method: string, path: string, sent: Sent = {}): Promise<number> {
    const { body, user } = sent;
    const headers = {
      'content-type': 'application/json',
      ...(user === undefined ? {} : { 'impersonate-user': user }),
    };
    const response = await fetch(`${servers[replica].url}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify({ apiVersion: `${group}/v1`, ...body }) }),
    });
    await response.text();
    return response.status;
  }

  const role = (name: string, ...rules: readonly object[]): object => ({
    kind: 'ClusterRole',
    metadata: { name },
    rules,
  });

  it('is checked at its commit against the permissions that are stored at that time', async () => {
    const read = { verbs: ['get'], apiGroups: [''], resources: ['secrets'] };
    const write = { verbs: ['create'], apiGroups: [group], resources: ['clusterroles'] };
    for (const [name, rule] of Object.entries({ reader: read, writer: write })) {
      expect(await send(0, 'POST', `${rbac}/clusterroles`, { body: role(name, rule) })).to.equal(201);
      const roleRef = { apiGroup: group, kind: 'ClusterRole', name };
      const subjects = [{ apiGroup: group, kind: 'User', name: 'ann' }];
      const body = { kind: 'ClusterRoleBinding', metadata: { name }, roleRef, subjects };
      expect(await send(0, 'POST', `${rbac}/clusterrolebindings`, { body })).to.equal(201);
    }
    const first = { body: role('granted', read), user: 'ann' };
    expect(await send(0, 'POST', `${rbac}/clusterroles`, first)).to.equal(201);
    const { hold, open, isReached } = gate();
    stores[0].beforeCommit = hold;
    const granting = send(0, 'POST', `${rbac}/clusterroles`, { body: role('late', read), user: 'ann' });
    await eventually(isReached);
    expect(await send(1, 'DELETE', `${rbac}/clusterrolebindings/reader`)).to.equal(200);
    stores[0].beforeCommit = async () => undefined;
    open();
    expect(await granting).to.equal(403);
    expect(await send(1, 'GET', `${rbac}/clusterroles/late`)).to.equal(404);
  });
});

interface Sent {
  readonly body?: object;
  readonly user?: string;
}
