import { expect } from 'chai';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeclaredObject } from './declared-object.ts';
import type { DeclaredObject } from './declared-object.ts';
import { readDeclaredObjects } from './declared-objects.ts';
import { declarationError } from './declaration-mistake.ts';
import type { PluginManifest } from '../manifest/manifest.ts';
import { makeFolder, removeFolders } from '../package/plugin-folder.fixture.ts';

const widget = (name: string, version = 'apiVersion'): string =>
  `${version}: widgets.example.com/v1\nkind: Widget\nmetadata: { name: ${name} }\nspec: { size: 3 }\n`;

interface Read {
  readonly objects: readonly DeclaredObject[];
  /** All mistakes, as in the message of the plugin's failure. */
  readonly mistakes: readonly string[];
}

async function read(path: string, revision: PluginManifest['revision'] = '2.15'): Promise<Read> {
  const declarations = await readDeclaredObjects(path, revision);
  const mistakes = declarations.flatMap((each) => (isDeclaredObject(each) ? [] : [each]));
  return {
    objects: declarations.filter(isDeclaredObject),
    mistakes: mistakes.length === 0 ? [] : declarationError(mistakes).message.split('; '),
  };
}

describe('declared objects', () => {
  const folder = 'resources/extensions';

  afterEach(removeFolders);

  const file = async (text: string): Promise<string> => makeFolder({ [`${folder}/a.yaml`]: text });

  it('are read from the YAML files in resources/extensions and src/main/resources/extensions, not in subfolders [spec 2.9-folder, 2.9-file-names, 2.9-type]', async () => {
    const path = await makeFolder({
      [`${folder}/z.yaml`]: `${widget('a')}---\n${widget('b')}---\n`,
      [`${folder}/notes.txt`]: 'not YAML: [',
      [`${folder}/below/x.yaml`]: 'not YAML: [',
      [`src/main/${folder}/any name.YML`]: widget('c'),
    });
    const { objects, mistakes } = await read(path);
    expect(mistakes).to.deep.equal([]);
    expect(objects.map(({ object }) => object.metadata.name)).to.deep.equal(['a', 'b', 'c']);
    expect(objects.map(({ gvk }) => gvk)).to.deep.equal(
      Array.from({ length: 3 }, () => ({ group: 'widgets.example.com', version: 'v1', kind: 'Widget' })),
    );
  });

  it('are an empty list when the plugin has no folder for them', async () => {
    expect(await read(await makeFolder({}))).to.deep.equal({ objects: [], mistakes: [] });
  });

  it('have groupVersion, and their fields at the top level, in revision 2.9 [spec 2.9-shape-2.9]', async () => {
    const path = await file('groupVersion: widgets.example.com/v1\nkind: Widget\nmetadata: { name: a }\ncode: x\n');
    const { objects } = await read(path, '2.9');
    expect(objects[0]?.object).to.deep.equal({
      apiVersion: 'widgets.example.com/v1',
      kind: 'Widget',
      metadata: { name: 'a' },
      code: 'x',
    });
  });

  it('are refused when they have the key groupVersion in revision 2.15, or the key apiVersion in revision 2.9; the message has the right key and the line [spec 9-file-key-2.15, 9-file-key-2.9]', async () => {
    const wrong = async (text: string, revision: '2.15' | '2.9'): Promise<readonly string[]> =>
      (await read(await file(text), revision)).mistakes;
    const place = `${folder}/a.yaml: document 1, line`;
    expect(await wrong(`# 2.9\n${widget('a', 'groupVersion')}`, '2.15')).to.deep.equal([
      `${place} 2: groupVersion: is the key of revision 2.9: a plugin of revision 2.15 writes apiVersion`,
    ]);
    const other = 'apiVersion: is the key of revision 2.15: a plugin of revision 2.9 writes groupVersion';
    expect(await wrong(widget('a'), '2.9')).to.deep.equal([`${place} 1: ${other}`]);
    expect(await wrong(`groupVersion: widgets.example.com/v1\n${widget('a')}`, '2.9')).to.deep.equal([
      `${place} 2: ${other}`,
    ]);
  });

  it('are refused with file, document, line and field of every mistake in every file', async () => {
    const path = await makeFolder({
      [`${folder}/a.yaml`]: [
        widget('a'),
        'kind: 5\nmetadata:\n  name: [x]\n',
        '- 1\n',
        'b: [\n',
        'apiVersion: v1\nkind: Thing\nmetadata: 7\n',
        'apiVersion: v1\nkind: Thing\nspec:\n  size: .nan\n',
        'apiVersion: v1\nkind: Thing\n',
        'a: 1\nb: 1\na: 1\n',
      ].join('---\n'),
      [`${folder}/b.yaml`]: 'a: [\n',
      [`${folder}/c.yaml`]: widget('c'),
    });
    const { objects, mistakes } = await read(path);
    const a = `${folder}/a.yaml: document`;
    expect(mistakes).to.deep.equal([
      `${a} 2, line 6: apiVersion: is missing`,
      `${a} 2, line 6: kind: must be a text`,
      `${a} 2, line 8: metadata.name: must be a text`,
      `${a} 3, line 10: must be an object with apiVersion, kind and metadata`,
      `${a} 4, line 13: not valid YAML: deficient indentation, at column 1`,
      `${a} 5, line 16: metadata: must be an object`,
      `${a} 6, line 21: the field "spec.size" has a number that JSON cannot represent`,
      `${a} 7, line 23: metadata.name: is missing`,
      `${a} 8, line 28: not valid YAML: duplicated mapping key, at column 1`,
      `${folder}/b.yaml: document 1, line 2: not valid YAML: deficient indentation, at column 1`,
    ]);
    expect(objects.filter(({ isUnnamed }) => !isUnnamed).map(({ object }) => object.metadata.name)).to.deep.equal([
      'a',
      'c',
    ]);
  });

  it('are refused in files that are too large, have too many documents, or are not UTF-8', async () => {
    const path = await makeFolder({
      [`${folder}/a.yaml`]: `# ${'x'.repeat(3 * 1024 * 1024)}`,
      [`${folder}/b.yaml`]: '--- 1\n'.repeat(1001),
      [`${folder}/c.yaml`]: Buffer.from([0x61, 0x3a, 0x20, 0xff]),
      [`${folder}/d.yaml/x`]: '',
    });
    expect((await read(path)).mistakes).to.deep.equal([
      `${folder}/a.yaml: is larger than 3145728 bytes`,
      `${folder}/b.yaml: has 1001 documents, but may have at most 1000`,
      `${folder}/c.yaml: is not UTF-8: The encoded data was not valid for encoding utf-8`,
      `${folder}/d.yaml: is not a file`,
    ]);
  });

  it('are refused with the first hundred mistakes, and the number of the other mistakes', async () => {
    const { mistakes } = await read(await file('- 1\n---\n'.repeat(103)));
    expect(mistakes).to.have.length(101);
    expect(mistakes.at(-1)).to.equal('and 3 more');
  });

  it("are refused in a file that is a link out of the plugin's folder", async () => {
    const outside = await makeFolder({ 'x.yaml': widget('x') });
    const path = await file(widget('a'));
    await symlink(join(outside, 'x.yaml'), join(path, folder, 'b.yaml'));
    const { mistakes } = await read(path);
    expect(mistakes).to.have.length(1);
    expect(mistakes[0]).to.include("b.yaml leads out of the plugin's folder");
  });
});
