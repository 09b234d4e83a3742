import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { startOn } from './api-server.ts';
import type { ApiServer } from './api-server.ts';
import { SharedDatabase } from './shared-database.fixture.ts';
import type { ReplicaStore } from './shared-database.fixture.ts';

const apiVersion = 'rbac.authorization.k8s.io/v1';
const apiGroup = 'rbac.authorization.k8s.io';
const namespaces = '/api/v1/namespaces';
const bindings = `/apis/${apiVersion}/clusterrolebindings`;

interface Replica {
  readonly server: ApiServer;
  readonly store: ReplicaStore;
}

describe('permissions of replicas on one database', () => {
  let database: SharedDatabase;
  let running: Replica[];

  beforeEach(async () => {
    database = new SharedDatabase();
    running = [];
    for (let count = 0; count < 2; count += 1) {
      const store = database.replica();
      running.push({ server: await startOn(store, { port: 0 }), store });
    }
    await send(0, 'POST', `/apis/${apiVersion}/clusterroles`, {
      apiVersion,
      kind: 'ClusterRole',
      metadata: { name: 'reader' },
      rules: [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list', 'watch'] }],
    });
  });

  afterEach(async () => {
    await Promise.all(running.map(async ({ server }) => server.stop()));
    await database.close();
  });

  async function send(replica: number, method: string, path: string, body?: object): Promise<number> {
    const sent =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
    const { status } = await fetch(`${running[replica]?.server.url}${path}`, { method, ...sent });
    return status;
  }

  const grant = async (): Promise<number> =>
    send(0, 'POST', bindings, {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'ada' },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'reader' },
      subjects: [{ apiGroup, kind: 'User', name: 'ada' }],
    });

  /** Sends a request of the user ada to the second replica. */
  const ask = async (path: string): Promise<Response> =>
    fetch(`${running[1]?.server.url}${path}`, { headers: { 'Impersonate-User': 'ada', 'Impersonate-Group': 'staff' } });

  it('take effect at another replica with the next request there, even if that replica receives no hints of changes', async () => {
    for (const isDeaf of [false, true]) {
      for (const { store } of running) store.isDeaf = isDeaf;
      expect((await ask(namespaces)).status).to.equal(403);
      expect(await grant()).to.equal(201);
      expect((await ask(namespaces)).status).to.equal(200);
      expect((await ask(`${namespaces}/default`)).status).to.equal(200);
      expect(await send(0, 'DELETE', `${bindings}/ada`)).to.equal(200);
      expect((await ask(namespaces)).status).to.equal(403);
    }
  });

  it('end the watches of a user at another replica when the permissions are withdrawn', async () => {
    await grant();
    const response = await ask(`${namespaces}?watch=true`);
    expect(response.status).to.equal(200);
    const lines = response.text();
    expect(await send(0, 'DELETE', `${bindings}/ada`)).to.equal(200);
    const last = (await lines).trim().split('\n').at(-1) ?? '';
    expect(JSON.parse(last)).to.deep.include({ type: 'ERROR' });
    expect(last).to.include('User \\"ada\\" cannot watch resource \\"namespaces\\"');
  });

  it('are decided with the roles in memory while the database cannot be read', async () => {
    await grant();
    expect((await ask(`${namespaces}?resourceVersion=0`)).status).to.equal(200);
    const [, second] = running;
    if (second === undefined) throw new Error('there is no second replica');
    second.store.beforeRevision = async () => {
      throw new Error('the database is gone');
    };
    expect((await ask(`${namespaces}?resourceVersion=0`)).status).to.equal(200);
    expect((await ask('/metrics')).status).to.equal(403);
    second.store.beforeRevision = async () => undefined;
    await eventually(async () => expect((await ask(namespaces)).status).to.equal(200));
  });
});
