import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, makePlugin, removeFolders } from '../package/plugin-folder.fixture.ts';
import { PluginHost } from '../host/plugin-host.ts';
import { Development } from './development.ts';

const runtime = import.meta.resolve('homeostat');

/**
 * Returns the main file of a plugin whose kind has these fields in its spec. Its controller writes a greeting with the
 * word that dist/word.js exports.
 */
function mainOf(fields: string): string {
  return `
    import { controller, defineModel, definePlugin } from '${runtime}';
    import { word } from './word.js';
    const spec = { type: 'object', properties: { name: { type: 'string' }, ${fields} } };
    const status = { type: 'object', properties: { greeting: { type: 'string' } } };
    const Order = defineModel({
      gvk: 'shop.example.com/v1/Order', plural: 'orders', schema: { type: 'object', properties: { spec, status } },
    });
    const greet = controller(Order, {
      reconcile: async ({ object, status }) => void (await status({ greeting: word + ' ' + object.spec.name })),
    });
    export default definePlugin({ models: [Order], controllers: [greet] });`;
}

const declared = `
apiVersion: shop.example.com/v1
kind: Order
metadata: { name: first }
spec: { name: First, size: large }
`;

const compiler = `
  import { copyFileSync, readFileSync } from 'node:fs';
  if (readFileSync('index.ts', 'utf8').includes('mistake')) process.exit(1);
  copyFileSync('index.ts', 'dist/index.js');`;

describe('Development', () => {
  let server: ApiServer;
  let host: PluginHost;
  let folder: string;
  let clock: FakeClock;
  let lines: string[];
  /** The lines printed before the plugin was served. */
  let first: readonly string[];
  let abort: AbortController;
  let running: Promise<void>;

  async function develop(files: Readonly<Record<string, string>> = {}): Promise<void> {
    const main = mainOf("size: { type: 'string' }");
    folder = await makePlugin('shop', main, {
      'dist/word.js': "export const word = 'Hello';",
      'resources/extensions/first.yaml': declared,
      ...files,
    });
    server = await startApiServer({ database: 'memory:', port: 0 });
    host = new PluginHost({ server });
    lines = [];
    clock = new FakeClock();
    abort = new AbortController();
    const development = await Development.open(folder, { print: (line) => lines.push(line), clock });
    await development.compileFirst(abort.signal);
    first = [...lines];
    await host.addFolder(development.folder);
    await host.start();
    running = development.run({ server, host }, abort.signal);
  }

  afterEach(async () => {
    abort.abort();
    await running;
    expect(clock.pendingTimers).to.equal(0);
    await host.stop();
    await server.stop();
    await removeFolders();
  });

  const write = async (path: string, content: string): Promise<void> => writeFile(join(folder, path), content);

  /** Advances time until a printed line contains the text. */
  async function told(text: string): Promise<void> {
    await eventually(
      async () => {
        await clock.advance(250);
        return lines.some((line) => line.includes(text));
      },
      { timeoutMs: 10_000, describe: () => `"${text}" in\n${lines.join('\n')}` },
    );
  }

  async function greeting(): Promise<string | undefined> {
    const response = await fetch(`${server.url}/apis/shop.example.com/v1/orders/first`);
    return ((await response.json()) as { status?: { greeting?: string } }).status?.greeting;
  }

  it('reloads a plugin when a file changes that its main file imports; objects stay, and watches of other kinds continue', async () => {
    await develop();
    await eventually(async () => (await greeting()) === 'Hello First');
    const { uid } = await orderOf('first');
    const ending = new AbortController();
    const watch = await fetch(`${server.url}/api/v1/namespaces?watch=true`, { signal: ending.signal });
    const reader = watch.body!.getReader();
    await write('dist/word.js', "export const word = 'Welcome';");
    await told('changed: dist/word.js');
    await eventually(async () => (await greeting()) === 'Welcome First');
    expect((await orderOf('first')).uid).to.equal(uid);

    await fetch(`${server.url}/api/v1/namespaces`, {
      method: 'POST',
      body: JSON.stringify({ metadata: { name: 'later' } }),
      headers: { 'Content-Type': 'application/json' },
    });
    let events = '';
    while (!events.includes('"name":"later"')) events += new TextDecoder().decode((await reader.read()).value);
    expect(events).to.not.include('"ERROR"');
    ending.abort();
  });

  it('reports how the schema has changed, and which stored objects do not fit the new schema', async () => {
    await develop();
    const created = await fetch(`${server.url}/apis/shop.example.com/v1/orders`, {
      method: 'POST',
      body: JSON.stringify({
        apiVersion: 'shop.example.com/v1',
        kind: 'Order',
        metadata: { name: 'second' },
        spec: { name: 'Second', size: 'large' },
      }),
      headers: { 'Content-Type': 'application/json' },
    });
    expect(created.status).to.equal(201);
    await write('resources/extensions/first.yaml', declared.replace(', size: large', ''));
    await write('dist/index.js', mainOf("size: { type: 'string', maxLength: 3 }, colour: { type: 'string' }"));
    await told('of 2 stored objects, 1 would be refused at a write');
    expect(lines).to.include('  + spec.colour (string, optional): stored objects do not have this field');
    expect(lines.filter((line) => line.startsWith('  ~ spec.size (maxLength: none → 3): '))).to.have.length(1);
    expect(lines.filter((line) => line.includes('spec.size: Too long'))).to.have.length(1);
    expect(lines.at(-1)).to.equal('shop 1.0.0 is Started');
  });

  it('keeps the previous version while the new version cannot be loaded, and starts a later version that can be loaded [slow]', async () => {
    await develop();
    await eventually(async () => (await greeting()) === 'Hello First');
    await write('dist/word.js', 'export const word = nothing;');
    await told('not reloaded: nothing is not defined (dist/word.js:1)');
    await write('dist/index.js', 'export default { modles: [] };');
    await told('not reloaded: not a plugin: "modles" is unknown');
    await write('dist/index.js', mainOf("size: { type: 'string' }"));
    await write('plugin.yaml', 'name: shop\nversion: one\n');
    await told('plugin.yaml:2: version: must be a version such as 1.0.0');
    await write('plugin.yaml', 'name: shop\nversion: 1.0.0\nrequires: ^99.0.0\n');
    await told('not reloaded: requires homeostat ^99.0.0');
    await write('plugin.yaml', 'name: market\nversion: 1.0.0\n');
    await told('plugin.yaml: name: is "market" now');
    expect(await greeting()).to.equal('Hello First');
    await write('plugin.yaml', 'name: shop\nversion: 2.0.0\n');
    await write('dist/word.js', "export const word = 'Back';");
    await told('shop 2.0.0 is Started');
    await eventually(async () => (await greeting()) === 'Back First');
  });

  it('keeps the previous version of the plugin running when a declared object or a model is wrong [slow]', async () => {
    await develop();
    await eventually(async () => (await greeting()) === 'Hello First');
    const wrong: readonly (readonly [file: string, content: string, says: string])[] = [
      ['first.yaml', declared.replace('Order', 'Orders'), 'kind: shop.example.com/v1 Orders is not registered'],
      ['first.yaml', declared.replace('large', '7'), 'first.yaml: document 1, line 5: spec.size: '],
      ['first.yaml', `${declared}\nextra: 1`, 'first.yaml: document 1, line 7: extra: '],
      ['first.yaml', 'apiVersion: [', ': not valid YAML'],
      ['more.yaml', declared, 'there is a Order "first" in resources/extensions/first.yaml, document 1'],
      ['more.yaml', declared.replace('name: first', 'name: second, namespace: nowhere'), 'more.yaml: document 1'],
    ];
    for (const [file, content, says] of wrong) {
      lines.length = 0;
      await write('resources/extensions/first.yaml', declared);
      await write(`resources/extensions/${file}`, content);
      await told(`not reloaded: resources/extensions/${file}`);
      expect(lines.join('\n')).to.include(says);
    }
    await rm(join(folder, 'resources/extensions/more.yaml'));
    await write('resources/extensions/first.yaml', declared);
    await write('dist/index.js', mainOf("size: { type: 'string', pattern: '(' }"));
    await told('not reloaded: model Order: OrderSpec.size: pattern "(" ');
    expect(lines.at(-1)).to.match(/ \(dist\/index\.js:\d+\)$/);
    expect(await greeting()).to.equal('Hello First');
    expect(lines.join()).to.not.include('Failed');
    // Only the version in which `size` is an integer accepts the object with the size 7.
    await write('resources/extensions/first.yaml', declared.replace('large', '7'));
    await write('dist/index.js', mainOf("size: { type: 'integer' }"));
    await told('shop 1.0.0 is Started');
  });

  it('reports why a changed plugin fails at its start, and starts the plugin after a change that corrects the mistake', async () => {
    await develop();
    const main = mainOf("size: { type: 'string' }");
    await write(
      'dist/index.js',
      main.replace(
        'export default definePlugin({',
        "export default definePlugin({ start() { throw new Error('no'); },",
      ),
    );
    await told('shop 1.0.0 is Failed: no (dist/index.js:');
    lines.length = 0;
    await write('dist/index.js', main);
    await told('shop 1.0.0 is Started');
  });

  it('does not reload the plugin when a test file changes [slow]', async () => {
    await develop({ 'test/support.js': '', 'dist/index.test.js': '', 'orders.spec.js': '' });
    for (const path of ['test/support.js', 'dist/index.test.js', 'orders.spec.js']) await write(path, '// changed');
    await clock.advance(1000);
    await write('dist/word.js', "export const word = 'Welcome';");
    await eventually(async () => {
      await clock.advance(250);
      return lines.at(-1) === 'shop 1.0.0 is Started';
    });
    expect(lines.filter((line) => line.startsWith('changed'))).to.deep.equal(['changed: dist/word.js']);
  });

  const typeScript = {
    'tsconfig.json': '{}',
    'node_modules/typescript/package.json': '{"type": "module", "bin": {"tsc": "./tsc.js"}}',
    'node_modules/typescript/tsc.js': compiler,
  };

  it('serves an earlier build, and reports this, when the sources have compile errors at the start [slow]', async () => {
    await develop({ ...typeScript, 'index.ts': 'a mistake' });
    expect(first).to.deep.equal([
      'there are errors: dist/index.js of an earlier build is served until the errors are corrected',
    ]);
    await eventually(async () => (await greeting()) === 'Hello First');
    await write('index.ts', mainOf("size: { type: 'string' }, colour: { type: 'string' }"));
    await told('+ spec.colour');
  });

  it('reports that it serves nothing when the sources have compile errors and there is no earlier build [slow]', async () => {
    const manifest = 'name: shop\nversion: 1.0.0\nmain: build/index.js\n';
    await develop({ ...typeScript, 'plugin.yaml': manifest, 'index.ts': 'a mistake' });
    expect(first).to.deep.equal([
      'there are errors, and no earlier build: the plugin is served once the errors are corrected',
    ]);
    expect(host.statuses()).to.have.nested.property('[0].phase', 'Failed');
  });

  it("compiles a plugin with the TypeScript in the plugin's node_modules, and does not reload it while there are errors [slow]", async () => {
    await develop({ ...typeScript, 'index.ts': mainOf("size: { type: 'string' }") });
    await write('index.ts', 'a mistake');
    await told('there are errors: nothing is reloaded');
    expect(host.statuses()).to.deep.equal([{ name: 'shop', version: '1.0.0', phase: 'Started' }]);
    await write('index.ts', mainOf("size: { type: 'string' }, colour: { type: 'string' }"));
    await told('+ spec.colour');
  });

  async function orderOf(name: string): Promise<{ readonly uid: string }> {
    const response = await fetch(`${server.url}/apis/shop.example.com/v1/orders/${name}`);
    return ((await response.json()) as { metadata: { uid: string } }).metadata;
  }
});

describe('Development.open', () => {
  after(removeFolders);

  it('refuses a folder that does not exist', async () => {
    const refused = await Development.open('/nowhere', { print: () => {} }).catch((error: unknown) => String(error));
    expect(refused).to.include('/nowhere: there is no such folder');
  });

  for (const [what, files, message] of [
    ['a folder without a manifest', {}, 'is not a plugin, because it has no plugin.yaml'],
    ['a manifest with a mistake', { 'plugin.yaml': 'name: shop' }, 'version: is missing'],
    [
      'TypeScript without a compiler',
      { 'plugin.yaml': 'name: shop\nversion: 1.0.0', 'tsconfig.json': '{}' },
      'npm install --save-dev typescript',
    ],
  ] as const) {
    it(`refuses ${what}`, async () => {
      const folder = await makeFolder(files);
      const refused = await Development.open(folder, { print: () => {} }).catch((error: unknown) => String(error));
      expect(refused).to.include(message);
    });
  }
});
