import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditOptions, PluginPermits } from '@homeostat/apiserver';
import { defineModel, externalEffectModel } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { letter, Person } from './support/models/models.ts';
import { TestServer } from './support/servers/test-server.ts';

interface Entry {
  readonly stage: string;
  readonly verb: string;
  readonly auditID: string;
  readonly user: { readonly username?: string; readonly groups?: readonly string[] };
  readonly requestURI: string;
  readonly responseStatus?: { readonly code: number };
  readonly annotations: Readonly<Record<string, string>>;
}

interface DataObject extends ApiObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
}

/** Returns a descriptor of a core kind, with which a client can write objects of this kind. */
function coreKind(kind: string, plural: string): ModelDescriptor<DataObject> {
  const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;
  return defineModel({ group: '', version: 'v1', kind, plural, scope: 'Namespaced', schema });
}

const secret = coreKind('Secret', 'secrets');
const configMap = coreKind('ConfigMap', 'configmaps');

const permits: PluginPermits = {
  permits: ({ resource }) => resource === 'persons',
  cureOf: () => 'add it to the manifest',
};

describe("the audit log of clients inside the server's process", () => {
  let folder: string;
  let logFile: string;
  let server: TestServer;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'audit-clients-'));
    logFile = join(folder, 'audit.log');
  });

  afterEach(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  async function start(options: Partial<AuditOptions> & { readonly rules?: string } = {}): Promise<void> {
    const { rules, ...rest } = options;
    const policyFile = join(folder, 'policy.yaml');
    const policy = `apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\n${rules ?? ''}`;
    await writeFile(policyFile, policy, { mode: 0o600 });
    const audit = { logFile, ...rest, ...(rules === undefined ? {} : { policyFile }) };
    server = await TestServer.start({ audit });
  }

  /** Waits until there are `count` entries of a user's writes, and returns them. */
  function entriesOf(username: string, count: number): Promise<readonly Entry[]> {
    return eventually(async () => {
      const lines = (await readFile(logFile, 'utf8')).split('\n').filter((line) => line !== '');
      const found = lines.map((line) => JSON.parse(line) as Entry).filter(({ user }) => user.username === username);
      expect(found).to.have.length.at.least(count);
      return found;
    });
  }

  it('has an entry for each write of a plugin, with user, action and result, and none for its reads', async () => {
    await start();
    const client = server.api.createPluginClient('shop', permits);
    const ann = await client.create(Person, { metadata: { generateName: 'ann-' }, spec: { name: 'Ann' } });
    const { name } = ann.metadata;
    await client.get(Person, name);
    await client.list(Person);
    const older = await client.update(Object.assign(new Person(), ann, { spec: { name: 'Ann', age: 30 } }), {
      fieldManager: 'me',
    });
    await client.updateStatus(older, { greeting: 'hello' });
    await client.patch(Person, name, { type: 'merge', patch: { spec: { age: 31 } } }, { dryRun: true });
    await client.apply(Person, { metadata: { name }, spec: { name: 'Ann' } }, { fieldManager: 'shop', force: true });
    await client.applyUncontested(Person, { metadata: { name }, spec: { name: 'Bob' } }, { fieldManager: 'other' });
    await client.ensure(Person, 'bob', { spec: { name: 'Bob' } });
    await client.delete(Person, name);
    const path = '/apis/people.example.com/v1alpha1/persons';
    const found = await entriesOf('system:plugin:shop', 8);
    expect(found.map(({ verb, requestURI, responseStatus }) => [verb, requestURI, responseStatus?.code])).to.deep.equal(
      [
        ['create', path, 201],
        ['update', `${path}/${name}?fieldManager=me`, 200],
        ['update', `${path}/${name}/status`, 200],
        ['patch', `${path}/${name}?dryRun=All`, 200],
        ['patch', `${path}/${name}?fieldManager=shop`, 200],
        ['patch', `${path}/${name}?fieldManager=other`, 200],
        ['create', path, 201],
        ['delete', `${path}/${name}`, 200],
      ],
    );
    const [create] = found;
    expect(create).to.deep.include({
      level: 'Metadata',
      stage: 'ResponseComplete',
      user: { username: 'system:plugin:shop', groups: ['system:plugins', 'system:authenticated'] },
      sourceIPs: [],
      userAgent: '',
      objectRef: { resource: 'persons', name, apiGroup: 'people.example.com', apiVersion: 'v1alpha1' },
    });
    expect(create?.annotations).to.include({
      'authorization.k8s.io/decision': 'allow',
      'authorization.k8s.io/reason': 'allowed by the permissions of the plugin',
    });
    expect(new Set(found.map(({ auditID }) => auditID)).size).to.equal(found.length);
  });

  it('has an entry for each refused write of a plugin, with the reason', async () => {
    await start();
    const client = server.api.createPluginClient('shop', permits);
    const namespace = 'default';
    const refused = client.create(letter, { metadata: { name: 'l', namespace } }).then(
      () => '',
      (error: unknown) => String(error),
    );
    expect(await refused).to.include('cannot create resource "letters"');
    await client.delete(Person, 'absent').catch(() => undefined);
    const [create, remove] = await entriesOf('system:plugin:shop', 2);
    expect(create?.requestURI).to.equal('/apis/people.example.com/v1alpha1/namespaces/default/letters');
    expect(create?.responseStatus).to.include({ code: 403, reason: 'Forbidden' });
    expect(create?.annotations).to.include({ 'authorization.k8s.io/decision': 'forbid' });
    expect(remove?.responseStatus).to.include({ code: 404, reason: 'NotFound' });
  });

  it('has entries of the writes of the program that runs the server', async () => {
    await start();
    await server.api.client.create(Person, { metadata: { name: 'ann' }, spec: { name: 'Ann' } });
    const [create] = await entriesOf('system:apiserver', 1);
    expect(create).to.deep.include({
      verb: 'create',
      user: { username: 'system:apiserver', groups: ['system:masters', 'system:authenticated'] },
    });
  });

  it('has the bodies and entries that the policy requests, but no bodies of Secrets and external effects', async () => {
    await start({ rules: 'rules: [{level: None, users: [system:plugin:quiet]}, {level: RequestResponse}]' });
    const ann = { metadata: { name: 'ann' }, spec: { name: 'Ann' } };
    await server.api.createPluginClient('quiet').create(Person, ann);
    const client = server.api.createPluginClient('shop');
    const place = { name: 's', namespace: 'default' };
    await client.create(secret, { metadata: place, stringData: { password: 'open-sesame' } });
    await client.create(configMap, { metadata: place, data: { text: 'x'.repeat(70_000) } });
    const effect = { controller: 'shop/order', effect: 'account', key: 'open-sesame' };
    await client.create(externalEffectModel, { metadata: place, spec: effect });
    await client.patch(Person, 'ann', { type: 'merge', patch: { spec: { age: 7 } } });
    const found = await entriesOf('system:plugin:shop', 4);
    const [ofSecret, large, , patched] = found;
    expect(ofSecret).not.to.have.any.keys('requestObject', 'responseObject');
    expect(large).not.to.have.any.keys('requestObject', 'responseObject');
    expect(large?.annotations).to.include({ 'audit.k8s.io/truncated': 'true' });
    expect(patched).to.deep.include({ requestObject: { spec: { age: 7 } } });
    expect(patched).to.have.nested.property('responseObject.spec.age', 7);
    const text = await readFile(logFile, 'utf8');
    expect(text).not.to.include('open-sesame');
    expect(text).not.to.include('system:plugin:quiet');
  });

  it('with `required: true`, refuses a write whose entry cannot be written', async () => {
    logFile = '/dev/full';
    await start({ required: true });
    const client = server.api.createPluginClient('shop');
    const refused = client.create(Person, { metadata: { name: 'ann' }, spec: { name: 'Ann' } }).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(await refused).to.include({ reason: 'ServiceUnavailable', code: 503 });
    expect((await client.list(Person)).items).to.have.length(0);
  });

  it('with `required: true`, has one entry from before a write and one from after it, with the same id', async () => {
    await start({ required: true });
    await server.api.createPluginClient('shop').create(Person, { metadata: { name: 'ann' }, spec: { name: 'Ann' } });
    const found = await entriesOf('system:plugin:shop', 2);
    expect(found.map(({ stage }) => stage)).to.deep.equal(['RequestReceived', 'ResponseComplete']);
    expect(found[0]?.auditID).to.equal(found[1]?.auditID);
  });

  it('has the writes that a plugin makes between the drain and the stop of the server', async () => {
    await start();
    await server.api.drain();
    await server.api.createPluginClient('shop').create(Person, { metadata: { name: 'ann' }, spec: { name: 'Ann' } });
    await server.stop();
    expect(await entriesOf('system:plugin:shop', 1)).to.have.length(1);
  });
});
