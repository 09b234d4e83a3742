import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { controller, definePlugin, isInvalid } from 'homeostat';
import type { ApiError, Client, Plugin } from 'homeostat';
import { silentLogger, startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { expect } from 'chai';
import { machine, machines, newMachine } from './support/models/models.ts';

const serviceDomain = 'svc.example.net';
const reserved = 'svc.example.net/tier';
const field = 'metadata.labels';

/** Returns the label keys because of which the server refuses a write; none if the write succeeds. */
async function refusedKeys(write: Promise<unknown>): Promise<string[]> {
  const error: unknown = await write.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error === undefined) return [];
  expect(isInvalid(error), 'invalid').to.equal(true);
  return (error as ApiError).causes.map((cause) => {
    expect(cause.field).to.equal(field);
    return cause.message.split('"')[1] ?? '';
  });
}

describe('label keys in writes of plugins, users and the server', () => {
  let server: TestServer;
  /** The client of the plugin. */
  let client: Client;
  let reconciled: string[][] = [];

  before(async () => {
    const labelled = controller(machine, {
      async reconcile({ object, client: own, ensure }) {
        if (object.metadata.name !== 'watched') return;
        reconciled.push(
          await refusedKeys(
            own.patch(machine, 'watched', { type: 'merge', patch: { metadata: { labels: { plain: 'x' } } } }),
          ),
          await refusedKeys(
            ensure(machine, 'child', { metadata: { labels: { plain: 'x', [reserved]: 'x', 'example.com/a': 'x' } } }),
          ),
        );
      },
    });
    const plugin = definePlugin({
      models: [machine],
      controllers: [labelled],
      start: (context) => void ({ client } = context),
    });
    server = await startTestServer({ serviceDomain, plugins: [plugin] });
  });

  after(() => server.stop());

  async function machineWith(name: string, labels: Record<string, string>): Promise<void> {
    await server.client.create(machine, { metadata: { name, labels } });
  }

  async function http(method: string, path: string, body: object): Promise<{ status: number; causes: string[] }> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const init = { method, headers: { 'Content-Type': type }, body: JSON.stringify(body) };
    const response = await fetch(`${server.url}${path}`, init);
    const answer = (await response.json()) as { details?: { causes?: { field: string; message: string }[] } };
    const causes = (answer.details?.causes ?? []).map(
      ({ field: at, message }) => `${at} ${message.split('"')[1] ?? ''}`,
    );
    return { status: response.status, causes };
  }

  it('lets users set keys without a prefix, but no keys of the service domain', async () => {
    const labels = { plain: 'a', 'example.com/x': 'a' };
    expect((await http('POST', machines, { ...newMachine('u1'), metadata: { name: 'u1', labels } })).status).to.equal(
      201,
    );
    const refused = { status: 422, causes: [`${field} ${reserved}`] };
    const withReserved = { name: 'u2', labels: { ...labels, [reserved]: 'a' } };
    expect(await http('POST', machines, { ...newMachine('u2'), metadata: withReserved })).to.deep.equal(refused);
    expect(await http('PATCH', `${machines}/u1`, { metadata: { labels: { [reserved]: 'a' } } })).to.deep.equal(refused);
    expect(
      await http('PUT', `${machines}/u1`, { ...newMachine('u1'), metadata: { ...withReserved, name: 'u1' } }),
    ).to.deep.equal(refused);
    expect(await server.client.get(machine, 'u1'))
      .to.have.nested.property('metadata.labels')
      .that.deep.equals(labels);
    const annotations = { [`${serviceDomain}/note`]: 'free', plain: 'free' };
    expect((await http('PATCH', `${machines}/u1`, { metadata: { annotations } })).status).to.equal(200);
  });

  it('allows the server itself to set any label key', async () => {
    await machineWith('s1', { plain: 'a', [reserved]: 'a', [`deep.${reserved}`]: 'a' });
    const stored = await server.client.get(machine, 's1');
    const next = {
      ...stored,
      metadata: { ...stored.metadata, labels: { ...stored.metadata.labels, [reserved]: 'b' } },
    };
    expect((await server.client.update(next)).metadata.labels).to.include({ [reserved]: 'b' });
  });

  it('refuses writes of a plugin with keys without a prefix or keys of the service domain, in create, update, patch and ensure [spec 2.5-unprefixed-reserved, 2.5-service-prefix-reserved]', async () => {
    const labels = { plain: 'a', [reserved]: 'a', 'example.com/x': 'a' };
    const both = ['plain', reserved];
    await machineWith('p1', {});
    const stored = await server.client.get(machine, 'p1');
    const next = { ...stored, metadata: { ...stored.metadata, labels } };
    expect(await refusedKeys(client.create(machine, { metadata: { name: 'p2', labels } }))).to.deep.equal(both);
    expect(await refusedKeys(client.update(next))).to.deep.equal(both);
    expect(
      await refusedKeys(client.patch(machine, 'p1', { type: 'merge', patch: { metadata: { labels } } })),
    ).to.deep.equal(both);
    const operations = [{ op: 'add', path: '/metadata/labels', value: labels }] as const;
    expect(await refusedKeys(client.patch(machine, 'p1', { type: 'json', operations }))).to.deep.equal(both);
    expect(await refusedKeys(client.ensure(machine, 'p1', { metadata: { labels } }))).to.deep.equal(both);
    expect(await refusedKeys(client.ensure(machine, 'p3', { metadata: { labels } }))).to.deep.equal(both);
    const names = (await client.list(machine)).items.map(({ metadata }) => metadata.name);
    expect(names.filter((name) => ['p2', 'p3'].includes(name))).to.deep.equal([]);
    expect(
      await refusedKeys(client.create(machine, { metadata: { name: 'p4', labels: { 'example.com/x': 'a' } } })),
    ).to.deep.equal([]);
  });

  it('refuses reserved keys in a write of a plugin, even if the options of the write name the server itself as the writer', async () => {
    const options = { writer: 'service' } as object;
    const object = { metadata: { name: 'liar', labels: { [reserved]: 'a' } } };
    expect(await refusedKeys(client.create(machine, object, options))).to.deep.equal([reserved]);
  });

  it('allows plugins and users to change objects that already have reserved keys, and to remove these keys', async () => {
    await machineWith('k1', { plain: 'a', [reserved]: 'a' });
    const stored = await client.get(machine, 'k1');
    const spec = { power: 3 };
    expect(await refusedKeys(client.update({ ...stored, spec } as typeof stored))).to.deep.equal([]);
    expect(await refusedKeys(client.updateStatus(await client.get(machine, 'k1'), { running: true }))).to.deep.equal(
      [],
    );
    const drop = { type: 'merge', patch: { metadata: { labels: { plain: null, 'example.com/y': 'b' } } } } as const;
    expect(await refusedKeys(client.patch(machine, 'k1', drop))).to.deep.equal([]);
    expect((await http('PATCH', `${machines}/k1`, { metadata: { labels: { [reserved]: null } } })).status).to.equal(
      200,
    );
    expect((await client.get(machine, 'k1')).metadata.labels).to.deep.equal({ 'example.com/y': 'b' });
  });

  it('refuses keys without a prefix and keys of the service domain also in writes by the controllers of a plugin', async () => {
    reconciled = [];
    await machineWith('watched', {});
    await server.settle();
    expect(reconciled.slice(0, 2)).to.deep.equal([['plain'], ['plain', reserved]]);
  });

  it('refuses to start a plugin that declares an object with a reserved key, and names the key', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-labels-'));
    await mkdir(join(folder, 'resources/extensions'), { recursive: true });
    await writeFile(join(folder, 'plugin.yaml'), 'name: declares\nversion: 1.0.0\n');
    await writeFile(join(folder, 'package.json'), '{"type": "module"}');
    await mkdir(join(folder, 'dist'));
    await writeFile(join(folder, 'dist/index.js'), 'export default {};');
    const object =
      'apiVersion: people.example.com/v1alpha1\nkind: Machine\nmetadata: { name: m, labels: { plain: x } }\n';
    await writeFile(join(folder, 'resources/extensions/m.yaml'), object);
    const other: Plugin = definePlugin({ models: [machine] });
    const started = startTestServer({ plugins: [other, folder], logger: silentLogger });
    const error: unknown = await started.catch((thrown: unknown) => thrown);
    expect(String(error)).to.include('plugin "declares" failed').and.include('metadata.labels: Invalid value: "plain"');
    await rm(folder, { recursive: true });
  });
});
