import { checkPluginGroup, checkPluginName } from 'create-homeostat';
import { expect } from 'chai';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseManifest } from '../manifest/manifest.ts';
import { makeFolder, removeFolders } from '../package/plugin-folder.fixture.ts';
import { runCommand } from './run-command.fixture.ts';

/** Runs `homeostat new` with the arguments `args`; `folder` is its working directory. */
async function runNew(
  folder: string,
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly output: string }> {
  const before = process.cwd();
  process.chdir(folder);
  try {
    const { code, stdout, stderr } = await runCommand(['new', ...args]);
    return { code, output: stdout + stderr };
  } finally {
    process.chdir(before);
  }
}

const index = `import { definePlugin } from 'homeostat';

export default definePlugin({ models: [
  // homeostat new kind
] });
`;

describe('homeostat new', () => {
  after(removeFolders);

  it('adds a kind in the group of the manifest, and refuses to overwrite the file of a kind', async () => {
    const folder = await makeFolder({
      'plugin.yaml': 'name: shop\nversion: 1.0.0\ngroup: shop.example.org\n',
      'index.ts': index,
    });
    const made = await runNew(folder, 'kind', 'Order', '--plural', 'purchases');
    expect(made).to.deep.equal({
      code: 0,
      output: 'wrote kinds/order.ts\nwrote kinds/order.test.ts\nwrote index.ts\n',
    });
    const kind = await readFile(join(folder, 'kinds', 'order.ts'), 'utf8');
    expect(kind).to.include("gvk: 'shop.example.org/v1alpha1/Order'").and.include("plural: 'purchases'");
    const again = await runNew(folder, 'kind', 'Order');
    expect(again.code).to.equal(2);
    expect(again.output).to.include('kinds/order.ts exists already');
  });

  it('exits with 2 outside of a plugin, in a plugin without a group, and for a type other than kind, controller or endpoint', async () => {
    const folder = await makeFolder({});
    const outside = await runNew(folder, 'kind', 'Order');
    expect(outside.code).to.equal(2);
    expect(outside.output).to.include(': is not a plugin, because it has no plugin.yaml');
    await writeFile(join(folder, 'plugin.yaml'), 'name: shop\nversion: 1.0.0\n');
    const groupless = await runNew(folder, 'kind', 'Order');
    expect(groupless.code).to.equal(2);
    expect(groupless.output).to.include('plugin.yaml: group: is missing');
    expect(await runNew(folder, 'thing', 'Order')).to.include({ code: 2 });
  });
});

describe('the name and the group of a new plugin', () => {
  /** Returns the host's message about a manifest with the value; undefined when the host accepts the manifest. */
  function judged(key: 'name' | 'group', value: string): string | undefined {
    const fields = { name: 'shop', version: '1.0.0', [key]: value };
    try {
      parseManifest(JSON.stringify(fields));
      return undefined;
    } catch (error) {
      return (error as Error).message.replace(`plugin.yaml:1: ${key}: `, '');
    }
  }

  for (const value of ['shop', '2fa', 'Shop', 'a.b', '-a', 'a-', 'service', 'x'.repeat(254), 'a_b'])
    it(`checkPluginName returns the same message as the host for the name ${value.slice(0, 20)}, or none if the host accepts it`, () => {
      expect(checkPluginName(value)).to.equal(judged('name', value));
    });

  for (const value of ['shop.example.com', 'shop', 'a..b', 'A.b', 'x.y-', `${'x'.repeat(253)}.y`])
    it(`checkPluginGroup returns the same message as the host for the group ${value.slice(0, 20)}, or none if the host accepts it`, () => {
      expect(checkPluginGroup(value)).to.equal(judged('group', value));
    });
});
