import { startApiServer } from '@homeostat/apiserver';
import { expect } from 'chai';
import { join } from 'node:path';
import { IndexSpec, multiValueAttribute } from '../index.ts';
import type { PluginContext } from '../index.ts';
import { makeFolder, makePlugin, removeFolders } from '../package/plugin-folder.fixture.ts';
import { PluginHost } from '../host/plugin-host.ts';
import { pluginSource } from '../package/plugin-source.ts';
import { silentLogger, startTestServer } from '../testing/index.ts';
import { widgetModel } from '../widget.fixture.ts';
import type { Widget } from '../widget.fixture.ts';

const folder = 'resources/extensions';
const head = (name: string): string => `apiVersion: widgets.example.com/v1\nkind: Widget\nmetadata:\n  name: ${name}\n`;
const widget = (name: string): string => `${head(name)}spec: { size: 3 }\n`;

describe('the objects that a plugin declares', () => {
  const model = widgetModel();

  afterEach(removeFolders);

  /** Starts a plugin with these files, and a plugin with the kind Widget, which has a unique index on spec.code. */
  async function startWith(files: Readonly<Record<string, string>>): Promise<{ failure: string; names: string[] }> {
    const server = await startApiServer({ database: 'memory:', port: 0 });
    const host = new PluginHost({ server });
    const manifest = 'name: declares\nversion: 1.0.0\ndependencies: { kinds: "*" }\n';
    await host.addFolder(await makePlugin('declares', 'export default {};', { 'plugin.yaml': manifest, ...files }));
    const codes = multiValueAttribute(model, ({ spec }: Widget) => (spec?.code === undefined ? [] : [spec.code]));
    const kinds = {
      start({ schemeManager }: PluginContext) {
        schemeManager.register(model, (indexSpecs) => {
          indexSpecs.add(new IndexSpec({ name: 'spec.code', unique: true, indexFunc: codes }));
        });
      },
    };
    host.add(pluginSource('kinds', kinds));
    try {
      await host.start();
      const [declares, ...others] = host.statuses();
      expect(others.map(({ phase }) => phase)).to.deep.equal(['Started']);
      const { items } = await server.client.list(model, { sort: 'metadata.name,asc' });
      return { failure: declares?.reason ?? '', names: items.map(({ metadata }) => metadata.name) };
    } finally {
      await host.stop();
      await server.stop();
    }
  }

  it('are created when absent; in an object that exists already, fields that another client has set stay unchanged [spec 2.9-all-at-start, 2.9-shape-2.15] [slow]', async () => {
    const database = `sqlite:${join(await makeFolder({}), 'h.db')}`;
    const first = await startTestServer({ database, models: [model] });
    await first.client.create(model, { metadata: { name: 'a' }, spec: { size: 9 } });
    await first.stop();

    const declares = await makePlugin('declares', 'export default {};', {
      'plugin.yaml': 'name: declares\nversion: 1.0.0\ndependencies: { plugin-2: "*" }\n',
      [`${folder}/a.yaml`]: `${widget('a')}---\n${widget('b')}`,
    });
    const second = await startTestServer({ database, plugins: [declares, { models: [model] }] });
    const { items } = await second.client.list(model, { sort: 'metadata.name,asc' });
    expect(items.map(({ metadata, spec }) => [metadata.name, metadata.version, spec?.size])).to.deep.equal([
      ['a', 1, 9],
      ['b', 1, 3],
    ]);
    await second.stop();
  });

  it('with mistakes fail the start of the plugin; the error has each mistake with its line, and no object is created', async () => {
    const { failure, names } = await startWith({
      [`${folder}/a.yaml`]: `${widget('good')}---\n${head('bad')}spec:\n  code: 7\n  colour: red\n  size: 0\n`,
      [`${folder}/b.yaml`]: `${head('A_B')}  labels:\n    example.com/ok: x\n    ok: x\n    example.com/-: x\n`,
      [`${folder}/c.yaml`]: `${head('c').replace('Widget', 'Gadget')}---\nspec: [\n---\nkind: Widget\n`,
      [`${folder}/d.yaml`]: 'apiVersion: widgets.example.com/v1\nkind: Widget\nspec:\n  size: 0\n',
      [`${folder}/e.yaml`]: `${head('e')}  labels:\n    a: 5\nspec: { size: 0 }\n`,
    });
    expect(names).to.deep.equal([]);
    const told = failure.split('; ');
    const claims = [
      `${folder}/a.yaml: document 2, line 12: spec.code: Invalid value: "integer"`,
      `${folder}/a.yaml: document 2, line 13: spec.colour: unknown field "spec.colour"`,
      `${folder}/a.yaml: document 2, line 14: spec.size: Invalid value: 0`,
      `${folder}/b.yaml: document 1, line 4: metadata.name: Invalid value: "A_B"`,
      `${folder}/b.yaml: document 1, line 5: metadata.labels: Invalid value: "example.com/-"`,
      `${folder}/b.yaml: document 1, line 5: metadata.labels: Invalid value: "ok": a plugin's key `,
      `${folder}/c.yaml: document 1, line 2: kind: widgets.example.com/v1 Gadget is not registered`,
      `${folder}/c.yaml: document 2, line 7: not valid YAML`,
      `${folder}/c.yaml: document 3, line 8: apiVersion: is missing`,
      `${folder}/c.yaml: document 3, line 8: metadata.name: is missing`,
      `${folder}/d.yaml: document 1, line 1: metadata.name: is missing`,
      `${folder}/d.yaml: document 1, line 4: spec.size: Invalid value: 0`,
      `${folder}/e.yaml: document 1, line 6: metadata.labels["a"]: Invalid value: number`,
      `${folder}/e.yaml: document 1, line 7: spec.size: Invalid value: 0`,
    ];
    expect(told.map((each, index) => each.slice(0, claims[index]?.length))).to.deep.equal(claims);
  });

  it('are refused if two of them have the same name, or the same value in a unique index', async () => {
    const { failure, names } = await startWith({
      [`${folder}/a.yaml`]: `${widget('a')}---\n${head('b')}spec: { code: x }\n`,
      [`${folder}/b.yaml`]: `${widget('a')}---\n${head('c')}spec:\n  code: x\n`,
    });
    expect(names).to.deep.equal([]);
    expect(failure.split('; ')).to.deep.equal([
      `${folder}/b.yaml: document 1, line 4: metadata.name: there is a Widget "a" in ${folder}/a.yaml, document 1, line 4, already`,
      `${folder}/b.yaml: document 2, line 12: spec.code: ${folder}/a.yaml, document 2, line 10, has the same value, and the value must be unique`,
    ]);
  });

  it('are validated even if an object with the same name exists already', async () => {
    const files = { [`${folder}/a.yaml`]: `${head('a')}spec: { size: 0 }\n` };
    const declares = await makePlugin('declares', 'export default {};', {
      'plugin.yaml': 'name: declares\nversion: 1.0.0\ndependencies: { plugin-1: "*" }\n',
      ...files,
    });
    const start = async ({ client }: PluginContext): Promise<void> => {
      await client.create(model, { metadata: { name: 'a' }, spec: { size: 9 } });
    };
    const failed: unknown = await startTestServer({
      plugins: [{ models: [model], start }, declares],
      logger: silentLogger,
    }).catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(Error);
    expect((failed as Error).message).to.include(`${folder}/a.yaml: document 1, line 5: spec.size: `);
  });
});
