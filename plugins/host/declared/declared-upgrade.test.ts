import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defineModel } from '../index.ts';
import type { ApiObject, ModelDescriptor } from '../index.ts';
import { makePlugin, removeFolders } from '../package/plugin-folder.fixture.ts';
import { PluginHost } from '../host/plugin-host.ts';
import { pluginKind } from '../objects/plugin-kind.ts';
import type { PluginObserved } from '../objects/plugin-kind.ts';
import { pluginSource } from '../package/plugin-source.ts';

const kind = pluginKind('homeostat.internal');
const text = { type: 'string' } as const;
const fields = { size: { type: 'integer', minimum: 1 }, colour: text, shape: text } as const;
const gvk = 'widgets.example.com/v1/Widget';

/** The form of an object in two revisions of the specification: with its fields in a spec, or at the top level. */
const revisions = [
  {
    revision: '2.15',
    versionKey: 'apiVersion',
    prefix: 'spec.',
    properties: { spec: { type: 'object', properties: fields } },
    place: (given: object) => ({ spec: given }),
    placed: (object: Widget) => object.spec ?? {},
  },
  {
    revision: '2.9',
    versionKey: 'groupVersion',
    prefix: '',
    properties: fields,
    place: (given: object) => given,
    placed: ({ apiVersion: _version, kind: _kind, metadata: _metadata, ...rest }: Widget) => rest,
  },
] as const;

interface Widget extends ApiObject {
  readonly spec?: object;
}

for (const { revision, versionKey, prefix, properties, place, placed } of revisions) {
  describe(`the objects that a plugin of revision ${revision} declares, on an upgrade`, () => {
    const model = defineModel({
      gvk,
      plural: 'widgets',
      schema: { type: 'object', properties },
    }) as ModelDescriptor as ModelDescriptor<Widget>;
    let server: ApiServer;
    let host: PluginHost;
    let folder: string;
    let versions = 0;

    beforeEach(async () => {
      server = await startApiServer({ database: 'memory:', port: 0 });
      host = new PluginHost({ server });
      host.add(pluginSource('kinds', { models: [model] }));
      const manifest = `name: declares\nversion: 1.0.0\nrevision: '${revision}'\ndependencies: { kinds: "*" }\n`;
      folder = await makePlugin('declares', 'export default {};', {
        'plugin.yaml': manifest,
        'resources/extensions/w.yaml': declaration({ size: 1, colour: 'red' }),
      });
      await host.addFolder(folder);
    });

    afterEach(async () => {
      await host.stop();
      await server.stop();
      await removeFolders();
    });

    function declaration(given: object, name = 'w'): string {
      return JSON.stringify({
        [versionKey]: 'widgets.example.com/v1',
        kind: 'Widget',
        metadata: { name },
        ...place(given),
      });
    }

    async function start(): Promise<void> {
      await host.start();
      await eventually(() => host.isIdle());
    }

    /** Reloads the plugin with other declared objects, and returns its status. */
    async function upgrade(...documents: readonly string[]): Promise<PluginObserved | undefined> {
      versions += 1;
      await writeFile(join(folder, 'resources/extensions/w.yaml'), documents.join('\n---\n'));
      const patch = { spec: { reload: String(versions) } };
      await server.client.patch(kind, 'declares', { type: 'merge', patch });
      await eventually(() => host.isIdle());
      return (await server.client.get(kind, 'declares')).status;
    }

    async function change(given: object): Promise<void> {
      await server.client.patch(model, 'w', { type: 'merge', patch: place(given) }, { fieldManager: 'anna' });
    }

    const stored = async (name = 'w'): Promise<object> => placed(await server.client.get(model, name));
    const applied = (status: PluginObserved | undefined): unknown =>
      status?.conditions?.find(({ type }) => type === 'ObjectsApplied');

    it('take the new values, except in fields that a user has changed; the status of the plugin names these fields', async () => {
      await start();
      await change({ size: 7, shape: 'round' });
      const status = await upgrade(declaration({ size: 2, colour: 'blue' }));
      expect(await stored()).to.deep.equal({ size: 7, colour: 'blue', shape: 'round' });
      expect(status?.phase).to.equal('Started');
      expect(applied(status)).to.include({
        status: 'False',
        reason: 'FieldConflicts',
        message: `resources/extensions/w.yaml: document 1, line 1: ${prefix}size: Widget "w" keeps the value of another field manager, conflict with "anna" using widgets.example.com/v1`,
      });
    });

    it('lose a field that is no longer declared, unless a user has also set this field', async () => {
      await start();
      await change({ size: 1 });
      await server.client.apply(
        model,
        { metadata: { name: 'w' }, ...place({ size: 1 }) },
        {
          fieldManager: 'anna',
        },
      );
      const status = await upgrade(declaration({ shape: 'round' }));
      expect(await stored()).to.deep.equal({ size: 1, shape: 'round' });
      expect(applied(status)).to.include({ status: 'True', reason: 'Applied' });
    });

    it('do not change when their declarations have not changed', async () => {
      await start();
      const { resourceVersion } = (await server.client.get(model, 'w')).metadata;
      await upgrade(declaration({ size: 1, colour: 'red' }));
      expect((await server.client.get(model, 'w')).metadata.resourceVersion).to.equal(resourceVersion);
    });

    it('stay when they are no longer declared', async () => {
      await start();
      await upgrade(declaration({ size: 3 }, 'other'));
      expect(await stored()).to.deep.equal({ size: 1, colour: 'red' });
      expect(await stored('other')).to.deep.equal({ size: 3 });
    });

    it('all stay unchanged when one of them has a mistake: the start fails, and the message names file and line', async () => {
      await start();
      const status = await upgrade(declaration({ size: 5 }), declaration({ size: 0 }, 'other'));
      expect(status).to.include({ phase: 'Failed', reason: 'StartFailed' });
      expect(status?.message).to.include(`resources/extensions/w.yaml: document 2, line 3: ${prefix}size: `);
      expect(await stored()).to.deep.equal({ size: 1, colour: 'red' });
    });

    it('are marked as created by the plugin only if it has created them', async () => {
      server.schemeManager.forOwner('setup', {}).register(model);
      await server.client.create(model, { metadata: { name: 'w' }, ...place({ size: 9 }) });
      server.schemeManager.unregister(model, 'setup');
      await start();
      await upgrade(declaration({ colour: 'red' }), declaration({ size: 3 }, 'other'));
      const marks = (await server.client.list(model, { sort: 'metadata.name,asc' })).items.map(({ metadata }) => [
        metadata.name,
        metadata.annotations,
      ]);
      expect(marks).to.deep.equal([
        ['other', { 'plugin.homeostat.internal/created-by': 'declares' }],
        ['w', undefined],
      ]);
      expect(await stored()).to.deep.equal({ size: 9, colour: 'red' });
    });
  });
}
