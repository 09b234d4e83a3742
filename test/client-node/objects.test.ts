import {
  ApiException,
  CustomObjectsApi,
  KubeConfig,
  KubernetesObjectApi,
  PatchStrategy,
} from '@kubernetes/client-node';
import type { KubernetesObject } from '@kubernetes/client-node';
import { expect } from 'chai';
import { apiVersion, machines, newMachine, person } from '../support/models/models.ts';
import { SecureServer } from '../support/servers/secure-server.ts';

interface Person extends KubernetesObject {
  spec: { name: string; age?: number };
}

const kind = { group: 'people.example.com', version: 'v1alpha1', plural: 'persons' } as const;

describe('client-node, over TLS with a token', () => {
  let server: SecureServer;
  let config: KubeConfig;

  before(async () => {
    server = await SecureServer.start();
    config = new KubeConfig();
    config.loadFromFile(server.kubeconfig);
  });

  after(async () => server.stop());

  async function refusal(promise: Promise<unknown>): Promise<ApiException<unknown>> {
    const error: unknown = await promise.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(ApiException);
    return error as ApiException<unknown>;
  }

  function statusOf({ code, body }: ApiException<unknown>): object {
    const status = (typeof body === 'string' ? JSON.parse(body) : body) as { kind: string; reason: string };
    return { code, kind: status.kind, reason: status.reason };
  }

  it('creates, reads, replaces, patches and deletes by KubernetesObjectApi [compat discovery, create, replace, patch, delete, selectors]', async () => {
    const api = KubernetesObjectApi.makeApiClient(config);
    const ada = person('ada', { name: 'Ada', age: 36 }) as unknown as Person;
    const header = { apiVersion, kind: 'Person', metadata: { name: 'ada' } };
    const created = await api.create(ada);
    expect(created.metadata?.creationTimestamp).to.be.instanceOf(Date);
    expect(statusOf(await refusal(api.create(ada)))).to.deep.equal({
      code: 409,
      kind: 'Status',
      reason: 'AlreadyExists',
    });
    const read = await api.read<Person>(header);
    expect(read.spec).to.include({ name: 'Ada', age: 36 });
    const replaced = await api.replace({ ...read, spec: { name: 'Ada King' } });
    expect(replaced.metadata?.creationTimestamp).to.deep.equal(created.metadata?.creationTimestamp);
    expect(statusOf(await refusal(api.replace({ ...read, spec: { name: 'late' } })))).to.include({
      reason: 'Conflict',
    });
    const byDefault = await api.patch<Person>({ ...header, spec: { name: 'Ada', age: 37 } });
    expect(byDefault.spec).to.include({ name: 'Ada', age: 37 });
    const merged = await api.patch<Person>(
      { ...header, spec: { name: 'Ada', age: 38 } },
      undefined,
      undefined,
      undefined,
      undefined,
      PatchStrategy.MergePatch,
    );
    expect(merged.spec.age).to.equal(38);
    const list = await api.list<Person>(
      apiVersion,
      'Person',
      undefined,
      undefined,
      undefined,
      undefined,
      'metadata.name=ada',
    );
    expect(list.items.map(({ metadata }) => metadata?.name)).to.deep.equal(['ada']);
    expect(await api.delete(header)).to.include({ kind: 'Status', status: 'Success' });
    expect(statusOf(await refusal(api.read(header)))).to.deep.equal({ code: 404, kind: 'Status', reason: 'NotFound' });
  });

  it('creates, reads, replaces, patches and deletes objects, status and collections by CustomObjectsApi [compat create, replace, patch, delete, selectors, status]', async () => {
    const api = config.makeApiClient(CustomObjectsApi);
    const machine = { ...kind, plural: machines.split('/').at(-1)! };
    for (const name of ['one', 'two']) {
      await api.createClusterCustomObject({ ...machine, body: newMachine(name, { spec: { power: 1 } }) });
    }
    const list = (await api.listClusterCustomObject({ ...machine, fieldSelector: 'metadata.name=one' })) as {
      items: KubernetesObject[];
    };
    expect(list.items.map(({ metadata }) => metadata?.name)).to.deep.equal(['one']);
    const one = { ...machine, name: 'one' };
    const power = [{ op: 'replace', path: '/spec/power', value: 9 }];
    expect(await api.patchClusterCustomObject({ ...one, body: power })).to.deep.include({ spec: { power: 9 } });
    const running = [{ op: 'add', path: '/status', value: { running: true } }];
    await api.patchClusterCustomObjectStatus({ ...one, body: running });
    const read = (await api.getClusterCustomObject(one)) as object;
    expect(read).to.deep.include({ spec: { power: 9 }, status: { running: true } });
    expect(await api.replaceClusterCustomObject({ ...one, body: { ...read, spec: { power: 3 } } })).to.deep.include({
      spec: { power: 3 },
      status: { running: true },
    });
    await api.deleteClusterCustomObject(one);
    await api.deleteCollectionClusterCustomObject(machine);
    expect((await api.listClusterCustomObject(machine)) as object).to.deep.include({ items: [] });
  });

  it('uses server-side apply, gets 409 in a conflict, and takes over a field by force [compat server-side-apply]', async () => {
    const api = KubernetesObjectApi.makeApiClient(config);
    const apply = (manager: string, age: number, force?: boolean): Promise<Person> =>
      api.patch<Person>(
        { apiVersion, kind: 'Person', metadata: { name: 'eve' }, spec: { name: 'Eve', age } },
        undefined,
        undefined,
        manager,
        force,
        PatchStrategy.ServerSideApply,
      );
    expect((await apply('one', 1)).spec).to.include({ name: 'Eve', age: 1 });
    expect(statusOf(await refusal(apply('two', 2)))).to.deep.equal({ code: 409, kind: 'Status', reason: 'Conflict' });
    const forced = await apply('two', 2, true);
    expect(forced.spec.age).to.equal(2);
    expect(forced.metadata?.managedFields?.map(({ manager }) => manager)).to.have.members(['one', 'two']);
  });

  it('gets a 401 for a wrong token [compat credentials]', async () => {
    const other = new KubeConfig();
    other.loadFromFile(server.kubeconfig);
    other.users = [{ name: 'homeostat', token: 'incorrect-horse-battery-staple' }];
    const error = await refusal(other.makeApiClient(CustomObjectsApi).listClusterCustomObject(kind));
    // The client library discards the body of a 401.
    expect(error).to.include({ code: 401, body: undefined });
  });

  it('refuses a server with the certificate of another authority [compat credentials]', async () => {
    const other = await SecureServer.start();
    const cluster = { ...config.getCurrentCluster()!, server: other.http.api.url };
    const mixed = new KubeConfig();
    mixed.loadFromClusterAndUser(cluster, config.getCurrentUser()!);
    const error: unknown = await mixed
      .makeApiClient(CustomObjectsApi)
      .listClusterCustomObject(kind)
      .catch((reason: unknown) => reason);
    await other.stop();
    expect(String(error)).to.match(/unable to verify the first certificate|self-signed certificate/);
  });
});
