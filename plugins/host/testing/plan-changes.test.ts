import { expect } from 'chai';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../commands/run-command.fixture.ts';
import { controller, defineModel, definePlugin, Secret, wish } from '../index.ts';
import type { ControllerOptions, FromModel } from '../index.ts';
import type { Plugin } from '../sdk/plugin.ts';
import { startTestServer } from './index.ts';
import type { TestServer } from './index.ts';
import { planChanges } from './plan-changes.ts';
import type { ChangePlan } from './plan-changes.ts';

const Shop = defineModel({
  gvk: 'shops.example.com/v1/Shop',
  plural: 'shops',
  schema: {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { shelves: { type: 'integer' } } },
      status: { type: 'object', properties: { note: { type: 'string' }, count: { type: 'integer' } } },
    },
  },
});
const Shelf = defineModel({
  gvk: 'shops.example.com/v1/Shelf',
  plural: 'shelves',
  schema: { type: 'object', properties: { spec: { type: 'object', properties: { width: { type: 'integer' } } } } },
});

type Reconcile = ControllerOptions<FromModel<typeof Shop>>['reconcile'];

/** Returns a plugin whose controller calls the given reconciler. */
function pluginThat(reconcile: Reconcile): Plugin {
  return definePlugin({ models: [Shop, Shelf], controllers: [controller(Shop, { owns: [Shelf], reconcile })] });
}

/** Returns a plugin that gives each shop as many shelves as its `spec.shelves` says, all of the given width. */
function shelvesOf(width: number): Plugin {
  return pluginThat(async ({ object, own, status }) => {
    const names = Array.from({ length: object.spec?.shelves ?? 0 }, (_, index) => `${object.metadata.name}-${index}`);
    await own(names.map((name) => wish(Shelf, { metadata: { name }, spec: { width } })));
    await status({ note: `${names.length} shelves` });
  });
}

describe('Plans [spec experience-plan]', () => {
  let folder: string;
  let server: TestServer;
  let from: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-plan-test-'));
    from = join(folder, 'export.ndjson');
    server = await startTestServer({ plugins: [shelvesOf(80)] });
    await server.client.create(Shop, { metadata: { name: 'corner' }, spec: { shelves: 2 } });
    await server.settle();
    await writeFile(from, await (await fetch(`${server.url}/export`)).text());
  });
  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const summary = ({ changes }: ChangePlan): readonly string[] =>
    changes.map(({ action, kind, name }) => `${action} ${kind} ${name}`);

  it('are empty for the version of the plugin that produced the state', async () => {
    const planned = await planChanges({ plugins: [shelvesOf(80)], from });
    expect(planned).to.deep.include({ changes: [], calls: [], failures: [] }).and.not.have.property('unsettled');
  });

  it('leave out encrypted objects when there is no encryptionConfig with their keys [slow]', async () => {
    await server.client.create(Secret, {
      metadata: { name: 'login', namespace: 'default' },
      data: { password: 'eA==' },
    });
    const withSecret = join(folder, 'with-secret.ndjson');
    await writeFile(withSecret, await (await fetch(`${server.url}/export`)).text());
    const planned = await planChanges({ plugins: [shelvesOf(81)], from: withSecret });
    expect(summary(planned)).to.deep.equal(['change Shelf corner-0', 'change Shelf corner-1']);
    expect(planned.failures).to.deep.equal([]);
  });

  it('list the writes that a server with the new plugin makes later; planning does not change the database [slow]', async () => {
    const database = `sqlite:${join(folder, 'real.db')}`;
    const next = pluginThat(async ({ object, own, status }) => {
      const wide = [wish(Shelf, { metadata: { name: `${object.metadata.name}-0` }, spec: { width: 200 } })];
      await own([...wide, wish(Shelf, { metadata: { name: `${object.metadata.name}-top` }, spec: { width: 80 } })]);
      await status({ note: 'two', count: 2 });
    });
    const old = await startTestServer({ database, plugins: [shelvesOf(80)] });
    await old.client.create(Shop, { metadata: { name: 'corner' }, spec: { shelves: 2 } });
    await old.settle();
    await old.stop();
    const file = join(folder, 'real.ndjson');
    const exported = await runCommand(['export', '--database', database, '--output', file]);
    expect(exported.code).to.equal(0);
    const planned = await planChanges({ plugins: [next], from: file });
    expect(summary(planned)).to.deep.equal([
      'change Shelf corner-0',
      'delete Shelf corner-1',
      'create Shelf corner-top',
      'change Shop corner',
    ]);
    const again = await runCommand(['export', '--database', database, '--output', join(folder, 'again.ndjson')]);
    expect(again.stderr, 'objects, revision and digest of the source').to.equal(exported.stderr);
    const real = await startTestServer({ database, plugins: [next] });
    await real.settle();
    const live = [...(await real.client.list(Shop)).items, ...(await real.client.list(Shelf)).items];
    for (const { kind, name, action, after } of planned.changes) {
      const found = live.find((each) => each.kind === kind && each.metadata.name === name);
      expect(found === undefined, name).to.equal(action === 'delete');
      for (const part of ['spec', 'status'])
        expect(Reflect.get(found ?? {}, part), name).to.deep.equal(Reflect.get(after ?? {}, part));
    }
    await real.stop();
  });

  it('report controllers that write in a loop and never become idle [slow]', async () => {
    const loop = pluginThat(async ({ object, client }) => {
      const spec = { shelves: (object.spec?.shelves ?? 0) + 1 };
      await client.patch(Shop, object.metadata.name, { type: 'merge', patch: { spec } });
    });
    const planned = await planChanges({ plugins: [loop], from, timeoutMs: 200 });
    expect(planned.unsettled).to.include('not settled');
    expect(planned.changes[0]?.writes).to.be.above(5);
  });

  it('list external calls without making them; a stub may return their results [slow]', async () => {
    const calling = pluginThat(async ({ status }) => {
      const response = await fetch('https://cloud.example.com/machines?token=secret', { method: 'POST' });
      await status({ note: await response.text() });
    });
    const refused = await planChanges({ plugins: [calling], from, horizonMs: 1000 });
    expect(refused.calls.map(({ call }) => call)).to.deep.equal(['POST https://cloud.example.com/machines']);
    expect(refused.failures[0]?.message).to.include(
      'a plan makes no external calls: POST https://cloud.example.com/machines',
    );
    expect(refused.changes).to.deep.equal([]);
    const stubbed = await planChanges({ plugins: [calling], from, fetch: async () => new Response('m-1') });
    expect(stubbed.changes[0]?.after).to.have.nested.property('status.note', 'm-1');
    const dialing = pluginThat(async () => {
      await once(connect({ host: '192.0.2.1', port: 5432 }), 'connect');
    });
    const dialed = await planChanges({ plugins: [dialing], from, horizonMs: 1000 });
    expect(dialed.calls[0]?.call).to.equal('connect 192.0.2.1:5432');
    expect((await fetch(`${server.url}/readyz`)).status, 'other code of the process').to.equal(200);
  });

  it('refuse unknown options, plugins that do not start, and files that are not exports [slow]', async () => {
    const rejected = async (options: object): Promise<string> =>
      planChanges({ plugins: [], from, ...options }).then(
        () => 'resolved',
        (error: unknown) => String(error),
      );
    expect(await rejected({ horizon: 1 })).to.include('unknown key "horizon". Did you mean "horizonMs"?');
    expect(await rejected({ plugins: [join(folder, 'none')] })).to.include('none');
    const none = join(folder, 'no-export');
    await writeFile(none, '{}\n');
    expect(await rejected({ from: none })).to.include('not the first line of an export');
  });
});
