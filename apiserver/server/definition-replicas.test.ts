import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import type { CustomResourceDefinition } from '../crd/definition.ts';
import { startOn } from './api-server.ts';
import type { ApiServer } from './api-server.ts';
import { SharedDatabase } from './shared-database.fixture.ts';

const gvk = { group: 'shop.example.com', version: 'v1', kind: 'Widget' };
const widgets = '/apis/shop.example.com/v1/widgets';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const name = 'widgets.shop.example.com';

const definition: Omit<CustomResourceDefinition, 'metadata'> & { readonly metadata: { readonly name: string } } = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name },
  spec: {
    group: gvk.group,
    scope: 'Cluster',
    names: { plural: 'widgets', kind: gvk.kind },
    versions: [
      {
        name: gvk.version,
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
          },
        },
      },
    ],
  },
};

describe('CustomResourceDefinitions and replicas', () => {
  let database: SharedDatabase;
  const servers: ApiServer[] = [];

  beforeEach(async () => {
    database = new SharedDatabase();
    for (let count = 0; count < 2; count += 1) servers.push(await startOn(database.replica(), { port: 0 }));
  });

  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop()));
    await database.close();
  });

  const send = async (server: ApiServer, path: string, init?: RequestInit): Promise<Response> =>
    fetch(server.url + path, { ...init, headers: { 'content-type': 'application/json' } });
  const isServed = async (server: ApiServer): Promise<boolean> => (await send(server, widgets)).status === 200;

  it('are served by all of them, and go from all of them', async () => {
    const [first, second] = servers as [ApiServer, ApiServer];
    const created = await send(first, definitions, { method: 'POST', body: JSON.stringify(definition) });
    expect(created.status).to.equal(201);
    for (const server of servers) await eventually(() => isServed(server));
    const widget = { apiVersion: 'shop.example.com/v1', kind: 'Widget', metadata: { name: 'a' }, spec: { size: 1 } };
    expect((await send(second, widgets, { method: 'POST', body: JSON.stringify(widget) })).status).to.equal(201);
    expect((await send(first, `${widgets}/a`)).status).to.equal(200);
    await send(second, `${definitions}/${name}`, { method: 'DELETE' });
    for (const server of servers) await eventually(async () => !(await isServed(server)));
    for (const server of servers) {
      await eventually(async () => (await send(server, `${definitions}/${name}`)).status === 404);
    }
  });
});
