import { controller, createClient, createManager } from '@homeostat/controller-runtime';
import { controllerModel, defineModel, pausedAnnotation, runModel } from '@homeostat/controller-runtime/api';
import type { Logger } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { eventually, startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';

const Person = defineModel({
  gvk: 'people.example.com/v1alpha1/Person',
  plural: 'persons',
  schema: {
    type: 'object',
    properties: { spec: { type: 'object', properties: { name: { type: 'string' } } } },
  } as const,
});

const token = 'administrators-token';
const rbac = '/apis/rbac.authorization.k8s.io/v1';

describe('a controller in another process', () => {
  let server: TestServer;

  before(async () => {
    server = await startTestServer({ models: [Person], token });
    await post('/api/v1/namespaces/default/serviceaccounts', 'v1/ServiceAccount', { metadata: { name: 'mailer' } });
    const rules = [{ apiGroups: ['people.example.com'], resources: ['persons'], verbs: ['get', 'list', 'watch'] }];
    await post(`${rbac}/clusterroles`, 'rbac.authorization.k8s.io/v1/ClusterRole', {
      metadata: { name: 'mailer' },
      rules,
    });
    await bind('mailer');
  });

  after(() => server.stop());

  async function post(
    path: string,
    gvk: string,
    body: object,
  ): Promise<{ readonly status: { readonly token: string } }> {
    const at = gvk.lastIndexOf('/');
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ apiVersion: gvk.slice(0, at), kind: gvk.slice(at + 1), ...body }),
    });
    expect(response.status).to.equal(201);
    return (await response.json()) as { readonly status: { readonly token: string } };
  }

  async function bind(role: string): Promise<void> {
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role };
    const subjects = [{ kind: 'ServiceAccount', name: 'mailer', namespace: 'default' }];
    const name = role.replaceAll(':', '-');
    await post(`${rbac}/clusterrolebindings`, 'rbac.authorization.k8s.io/v1/ClusterRoleBinding', {
      metadata: { name },
      roleRef,
      subjects,
    });
  }

  it('works without the permission to report, logs each kind of failure once, and reports when it gets the permission', async () => {
    const path = '/api/v1/namespaces/default/serviceaccounts/mailer/token';
    const issued = await post(path, 'authentication.k8s.io/v1/TokenRequest', { spec: {} });
    const warnings: string[] = [];
    const logger: Logger = {
      debug() {},
      info() {},
      error() {},
      warn: (_fields, message) => void warnings.push(message),
    };
    const seen: string[] = [];
    const stop = new AbortController();
    const clock = new FakeClock();
    const later = async (): Promise<void> => clock.advance(1000);
    const manager = createManager({
      client: createClient(server.url, { token: issued.status.token }),
      controllers: [controller(Person, { reconcile: ({ name }) => void seen.push(name) })],
      report: { name: 'mailer' },
      clock,
      logger,
    });
    const running = manager.run(stop.signal);
    await server.client.create(Person, { metadata: { name: 'ada' } });
    await eventually(async () => {
      await later();
      return warnings.length >= 2;
    });
    expect(seen).to.deep.equal(['ada']);
    expect(warnings.sort()).to.deep.equal([
      'a run could not be recorded; later runs are still recorded if possible',
      'the state of a controller could not be reported; trying again',
    ]);
    await bind('system:controllers-reporter');
    const annotations = { [pausedAnnotation]: 'true' };
    await server.client.create(Person, { metadata: { name: 'bea', annotations } });
    const found = async (): Promise<readonly string[]> => {
      const { items } = await server.client.list(runModel, { fieldSelector: 'controller=mailer/person' });
      return items.map(({ object, result }) => `${object.name} ${result}`);
    };
    await eventually(async () => {
      await later();
      return (await found()).includes('bea paused');
    });
    await eventually(async () => {
      await later();
      const { items } = await server.client.list(controllerModel);
      return items[0]?.metadata.name === 'mailer.person' && items[0].status?.queue.paused === 1;
    });
    stop.abort();
    await running;
    expect(seen).to.deep.equal(['ada']);
    expect((await server.client.get(controllerModel, 'mailer.person')).status?.running).to.equal(false);
  });
});
