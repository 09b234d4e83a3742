import { defineModel } from '@homeostat/controller-runtime/api';
import type { ApiObject, OwnerReference } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';

const properties = {
  status: {
    type: 'object',
    properties: {
      phase: { type: 'string' },
      observedGeneration: { type: 'integer' },
      secretNumber: { type: 'integer' },
      conditions: { type: 'array', items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    },
  },
  spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
};
const schema = { type: 'object', properties };
const Garden = defineModel({ gvk: 'gardens.example.com/v1/Garden', plural: 'gardens', schema });
const Tree = defineModel({ gvk: 'gardens.example.com/v1/Tree', plural: 'trees', schema });
const Leaf = defineModel({ gvk: 'gardens.example.com/v1/Leaf', plural: 'leaves', scope: 'Namespaced', schema });

const token = 'the-token-of-the-administrator';
const group = 'rbac.authorization.k8s.io';

interface Item {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly ownerReferences: readonly object[];
  };
  readonly status?: object;
}

interface Answer {
  readonly complete: boolean;
  readonly items: readonly Item[];
}

describe('the dependents of an object', () => {
  let server: TestServer;

  before(async () => {
    server = await startTestServer({ models: [Garden, Tree, Leaf], token });
  });

  after(() => server.stop());

  async function ask(path: string, headers: Readonly<Record<string, string>> = {}, body?: object): Promise<Response> {
    return fetch(`${server.url}${path}`, {
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
  }

  async function dependentsOf(garden: string, query = '', headers?: Readonly<Record<string, string>>): Promise<Answer> {
    const response = await ask(`/apis/gardens.example.com/v1/gardens/${garden}/dependents${query}`, headers);
    expect(response.status).to.equal(200);
    return (await response.json()) as Answer;
  }

  const names = ({ items }: Answer): readonly string[] => items.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

  const reference = ({ apiVersion, kind, metadata }: ApiObject): OwnerReference => ({
    apiVersion,
    kind,
    name: metadata.name,
    uid: metadata.uid,
  });

  /** Creates a garden with two trees, one of which has two leaves. */
  async function plant(name: string): Promise<ApiObject> {
    const garden = await server.client.create(Garden, { metadata: { name } });
    const ownerReferences = [reference(garden)];
    const tree = await server.client.create(Tree, { metadata: { name: `${name}-oak`, ownerReferences } });
    await server.client.create(Tree, { metadata: { name: `${name}-ash`, ownerReferences } });
    for (const leaf of ['a', 'b'])
      await server.client.create(
        Leaf,
        { metadata: { name: `${name}-${leaf}`, namespace: 'default', ownerReferences: [reference(tree)] } },
        { namespace: 'default' },
      );
    return garden;
  }

  it('are the owned objects and their dependents, nearest first, each with owner references and a short status', async () => {
    await plant('kew');
    const conditions = [{ type: 'Ready', status: 'False', reason: 'Dry', message: 'w'.repeat(2000), other: 'hidden' }];
    const status = { phase: 'Dry', observedGeneration: 1, secretNumber: 7, conditions };
    await server.client.patch(Tree, 'kew-oak', { type: 'merge', patch: { spec: { age: 300 }, status } });
    const answer = await dependentsOf('kew');
    expect(names(answer).slice(0, 2)).to.have.members(['Tree kew-oak', 'Tree kew-ash']);
    expect(names(answer).slice(2)).to.have.members(['Leaf kew-a', 'Leaf kew-b']);
    expect(answer.complete).to.equal(true);
    const [oak, leaf] = ['kew-oak', 'kew-a'].map((name) => answer.items.find(({ metadata }) => metadata.name === name));
    expect(oak).not.to.have.property('spec');
    expect(oak?.status).to.deep.equal({
      phase: 'Dry',
      observedGeneration: 1,
      conditions: [{ type: 'Ready', status: 'False', reason: 'Dry', message: 'w'.repeat(1024) }],
    });
    expect(leaf?.metadata.namespace).to.equal('default');
    expect(leaf?.metadata.ownerReferences).to.have.length(1);
    expect(leaf?.metadata.ownerReferences[0]).to.include({ kind: 'Tree', name: 'kew-oak' });
  });

  it('name all of their owners in the response, even an owner that is found later', async () => {
    const garden = reference(await server.client.create(Garden, { metadata: { name: 'eden' } }));
    const tree = await server.client.create(Tree, { metadata: { name: 'eden-fig', ownerReferences: [garden] } });
    const ownerReferences = [garden, reference(tree)];
    await server.client.create(Tree, { metadata: { name: 'eden-apple', ownerReferences } });
    // The server finds the dependents of one owner in the order of their changes.
    await server.client.patch(Tree, 'eden-fig', { type: 'merge', patch: { spec: { age: 1 } } });
    const answer = await dependentsOf('eden');
    expect(names(answer)).to.deep.equal(['Tree eden-apple', 'Tree eden-fig']);
    expect(answer.items[0]?.metadata.ownerReferences).to.deep.equal(ownerReferences);
  });

  it('contain each object once when objects own each other in a cycle', async () => {
    const garden = await plant('loop');
    const oak = (await server.client.get(Tree, 'loop-oak')) as ApiObject;
    const patch = { metadata: { ownerReferences: [reference(oak)] } };
    await server.client.patch(Garden, 'loop', { type: 'merge', patch });
    expect(names(await dependentsOf('loop'))).to.have.members([
      'Tree loop-oak',
      'Tree loop-ash',
      'Leaf loop-a',
      'Leaf loop-b',
    ]);
    expect(garden.metadata.name).to.equal('loop');
  });

  it('are at most as many as ?limit; the response has complete: false when the limit leaves out dependents', async () => {
    await plant('large');
    const answer = await dependentsOf('large', '?limit=3');
    expect([answer.items.length, answer.complete]).to.deep.equal([3, false]);
    expect((await dependentsOf('large', '?limit=4')).complete).to.equal(true);
    expect((await ask('/apis/gardens.example.com/v1/gardens/large/dependents?limit=0')).status).to.equal(400);
    expect((await ask('/apis/gardens.example.com/v1/gardens/none/dependents')).status).to.equal(404);
    expect((await ask('/apis/gardens.example.com/v1/gardens/large/dependents', {}, {})).status).to.equal(405);
  });

  it('no longer include a removed object, or the dependents that were removed with it', async () => {
    await plant('small');
    await server.client.delete(Tree, 'small-oak');
    await server.settle();
    expect(names(await dependentsOf('small'))).to.deep.equal(['Tree small-ash']);
  });

  it('are shown only to a user who may get the object, and include only objects that the user may list', async () => {
    await plant('shared');
    const eve = { 'impersonate-user': 'eve' };
    const path = '/apis/gardens.example.com/v1/gardens/shared/dependents';
    expect((await ask(path, eve)).status).to.equal(403);
    const grant = async (name: string, rule: object): Promise<void> => {
      const metadata = { name };
      const roleRef = { apiGroup: group, kind: 'ClusterRole', name };
      const subjects = [{ kind: 'User', name: 'eve', apiGroup: group }];
      for (const [plural, kind, fields] of [
        ['clusterroles', 'ClusterRole', { rules: [{ apiGroups: ['gardens.example.com'], ...rule }] }],
        ['clusterrolebindings', 'ClusterRoleBinding', { roleRef, subjects }],
      ] as const) {
        const body = { apiVersion: `${group}/v1`, kind, metadata, ...fields };
        expect((await ask(`/apis/${group}/v1/${plural}`, {}, body)).status).to.equal(201);
      }
    };
    await grant('sees-gardens', { resources: ['gardens'], verbs: ['get'] });
    expect((await dependentsOf('shared', '', eve)).items).to.deep.equal([]);
    await grant('lists-trees', { resources: ['trees'], verbs: ['list'] });
    // The user may not list objects of the kind Leaf, so the response must not show that the trees own some.
    expect(names(await dependentsOf('shared', '', eve))).to.have.members(['Tree shared-oak', 'Tree shared-ash']);
    expect((await dependentsOf('shared', '?limit=2', eve)).complete).to.equal(true);
  });
});
