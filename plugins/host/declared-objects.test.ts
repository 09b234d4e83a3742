import { expect } from 'chai';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { readDeclaredObjects } from './declared-objects.ts';
import { makeFolder, makePlugin, removeFolders } from './plugin-folder.fixture.ts';
import { startTestServer } from './testing/index.ts';
import { widgetModel } from './widget.fixture.ts';

const widget = (name: string, spec = '{ size: 3 }', version = 'apiVersion'): string =>
  `${version}: widgets.example.com/v1\nkind: Widget\nmetadata: { name: ${name} }\nspec: ${spec}\n`;

async function failureOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'it did not fail',
    (error: unknown) => (error as Error).message,
  );
}

describe('declared objects', () => {
  const model = widgetModel();
  const folder = 'resources/extensions';

  afterEach(removeFolders);

  it('are all documents of all YAML files of both folders', async () => {
    const path = await makeFolder({
      [`${folder}/z.yaml`]: `${widget('a')}---\n${widget('b')}---\n`,
      [`${folder}/notes.txt`]: 'not YAML: [',
      [`src/main/${folder}/any name.yml`]: widget('c'),
    });
    const objects = await readDeclaredObjects(path, '2.15');
    expect(objects.map(({ object }) => object.metadata.name)).to.deep.equal(['a', 'b', 'c']);
    expect(objects.map(({ gvk }) => gvk)).to.deep.equal(
      Array.from({ length: 3 }, () => ({ group: 'widgets.example.com', version: 'v1', kind: 'Widget' })),
    );
  });

  it('need no folder', async () => {
    expect(await readDeclaredObjects(await makeFolder({}), '2.15')).to.deep.equal([]);
  });

  it('of revision 2.9 say groupVersion, and have the fields at the top', async () => {
    const yaml = 'groupVersion: widgets.example.com/v1\nkind: Widget\nmetadata: { name: a }\ncode: x\n';
    const path = await makeFolder({ [`${folder}/a.yaml`]: yaml });
    const [declared] = await readDeclaredObjects(path, '2.9');
    expect(declared?.object).to.deep.equal({
      apiVersion: 'widgets.example.com/v1',
      kind: 'Widget',
      metadata: { name: 'a' },
      code: 'x',
    });
    expect(await failureOf(readDeclaredObjects(path, '2.15'))).to.include('apiVersion: is missing');
  });

  it('are refused with file, document, line and field of every mistake', async () => {
    const path = await makeFolder({
      [`${folder}/a.yaml`]: `${widget('a')}---\nkind: Widget\nmetadata: {}\n---\n- 1\n`,
      [`${folder}/b.yaml`]: 'a: [\n',
    });
    const message = await failureOf(readDeclaredObjects(path, '2.15'));
    expect(message).to.include(`${folder}/a.yaml: document 2, line 6: apiVersion: is missing`);
    expect(message).to.include(`${folder}/a.yaml: document 2, line 6: metadata.name: is missing`);
    expect(message).to.include(`${folder}/a.yaml: document 3, line 9: must be an object`);
    expect(message).to.match(/b\.yaml: .*line 2/);
  });

  it('are not read through a link out of the folder', async () => {
    const outside = await makeFolder({ 'x.yaml': widget('x') });
    const path = await makeFolder({ [`${folder}/a.yaml`]: widget('a') });
    await symlink(join(outside, 'x.yaml'), join(path, folder, 'b.yaml'));
    expect(await failureOf(readDeclaredObjects(path, '2.15'))).to.include("b.yaml leads out of the plugin's folder");
  });

  it('are created when absent, and left as they are when present', async () => {
    const database = `sqlite:${join(await makeFolder({}), 'h.db')}`;
    const first = await startTestServer({ database, models: [model] });
    await first.client.create(model, { metadata: { name: 'a' }, spec: { size: 9 } });
    await first.stop();

    const manifest = 'name: declares\nversion: 1.0.0\ndependencies: { kinds: "*" }\n';
    const dependent = await makePlugin('declares', 'export default {};', {
      'plugin.yaml': manifest,
      [`${folder}/a.yaml`]: `${widget('a')}---\n${widget('b')}`,
    });
    const second = await startTestServer({ database, plugins: [dependent, await makeKindsPlugin()] });
    const { items } = await second.client.list(model, { sort: 'metadata.name,asc' });
    expect(items.map(({ metadata, spec }) => [metadata.name, spec?.size])).to.deep.equal([
      ['a', 9],
      ['b', 3],
    ]);
    await second.stop();
  });

  for (const [mistake, yaml, message] of [
    [
      'an unknown kind',
      widget('a').replace('Widget', 'Gadget'),
      'kind: widgets.example.com/v1 Gadget is not registered',
    ],
    ['an invalid field', widget('a', '{ size: 0 }'), 'spec.size: '],
    ['an unknown field', widget('a', '{ colour: red }'), 'spec.colour'],
    ['a bad name', widget('A_B'), 'metadata.name: '],
  ] as const) {
    it(`fail the start for ${mistake}, with file, document, line and field`, async () => {
      const plugin = await makePlugin('declares', 'export default {};', {
        'plugin.yaml': 'name: declares\nversion: 1.0.0\ndependencies: { kinds: "*" }\n',
        [`${folder}/a.yaml`]: `${widget('good')}---\n${yaml}`,
      });
      const failure = await failureOf(startTestServer({ plugins: [plugin, await makeKindsPlugin()] }));
      expect(failure).to.include(`plugin "declares" failed: ${folder}/a.yaml: document 2, line 6: `);
      expect(failure).to.include(message);
    });
  }
});

/** A plugin in a folder that brings the kind Widget. */
async function makeKindsPlugin(): Promise<string> {
  const fixture = new URL('./widget.fixture.js', import.meta.url).href;
  return makePlugin('kinds', `import { widgetModel } from '${fixture}';\nexport default { models: [widgetModel()] };`);
}
