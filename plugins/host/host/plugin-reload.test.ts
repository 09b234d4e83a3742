import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { makePlugin, removeFolders } from '../package/plugin-folder.fixture.ts';
import { PluginHost } from './plugin-host.ts';
import { pluginKind } from '../objects/plugin-kind.ts';
import type { PluginObject, PluginSpec } from '../objects/plugin-kind.ts';
import type { ReloadLeaks } from './reload-leaks.test-support.ts';

const kind = pluginKind('homeostat.internal');

/** The texts that the modules of the plugin add, through `globalThis`, when they are loaded and started. */
const notes: string[] = [];
Object.assign(globalThis, { homeostatReloadNotes: notes });

const note = (text: string): string => `globalThis.homeostatReloadNotes.push(${text});`;
const main = `import { greeting } from './deep/greeting.js';
  ${note("'main is loaded'")}
  export default { start() { ${note('greeting')} } };`;
const deep = (text: string): string =>
  `export { greeting } from '../greeting.js'; ${note("'deep is loaded'")} // ${text}`;
const greeting = (text: string): string => `export const greeting = '${text}';`;

describe('the reload of a plugin', () => {
  let server: ApiServer;
  let host: PluginHost;
  let reloads = 0;

  beforeEach(async () => {
    notes.splice(0);
    // The server keeps the changes of its history window in memory, so a short window saves memory.
    const retention = { minAgeMs: 1000, minChanges: 10, maxBytes: 65_536 };
    server = await startApiServer({ database: 'memory:', port: 0, retention });
    host = new PluginHost({ server });
  });

  afterEach(async () => {
    await host.stop();
    await server.stop();
    await removeFolders();
  });

  const idle = async (): Promise<unknown> =>
    eventually(() => host.isIdle(), { describe: () => JSON.stringify(host.statuses()) });
  const object = async (name: string): Promise<PluginObject> => server.client.get(kind, name);

  async function change(name: string, spec: Partial<PluginSpec>): Promise<PluginObject> {
    await server.client.patch(kind, name, { type: 'merge', patch: { spec } });
    await idle();
    return object(name);
  }

  async function reload(name: string): Promise<PluginObject> {
    reloads += 1;
    return change(name, { reload: String(reloads) });
  }

  async function startPlugin(files: Readonly<Record<string, string>> = {}, code = main): Promise<string> {
    const folder = await makePlugin('p', code, {
      'dist/deep/greeting.js': deep(''),
      'dist/greeting.js': greeting('hello'),
      ...files,
    });
    await host.addFolder(folder);
    await host.start();
    await idle();
    return folder;
  }

  it("loads the present code of every module of the plugin's folder", async () => {
    const folder = await startPlugin();
    expect(notes).to.deep.equal(['deep is loaded', 'main is loaded', 'hello']);
    await writeFile(join(folder, 'dist/greeting.js'), greeting('good morning'));
    await reload('p');
    expect(notes.slice(3)).to.deep.equal(['deep is loaded', 'main is loaded', 'good morning']);
    await writeFile(join(folder, 'dist/greeting.js'), greeting('good night'));
    await change('p', { enabled: false });
    expect((await change('p', { enabled: true })).status?.phase).to.equal('Started');
    expect(notes.at(-1)).to.equal('good night');
  });

  it('loads no module again when all code of the plugin is the same as at an earlier load', async () => {
    const folder = await startPlugin();
    await reload('p');
    await writeFile(join(folder, 'dist/greeting.js'), greeting('changed'));
    await reload('p');
    await writeFile(join(folder, 'dist/greeting.js'), greeting('hello'));
    await reload('p');
    expect(notes).to.deep.equal([
      'deep is loaded',
      'main is loaded',
      'hello',
      'hello',
      'deep is loaded',
      'main is loaded',
      'changed',
      'hello',
    ]);
  });

  it('stops the dependents of the plugin before the reload, and starts them afterwards', async () => {
    const folder = await makePlugin('needs', `export default { start() { ${note("'needs'")} } };`, {
      'plugin.yaml': 'name: needs\nversion: 1.0.0\ndependencies: { p: ^1.0.0 }\n',
    });
    await host.addFolder(folder);
    await startPlugin();
    await reload('p');
    expect(notes.filter((each) => !each.endsWith('loaded'))).to.deep.equal(['hello', 'needs', 'hello', 'needs']);
  });

  it('reads the manifest again, and fails the plugin while the manifest is invalid or names another plugin', async () => {
    const folder = await startPlugin();
    const manifest = join(folder, 'plugin.yaml');
    await writeFile(manifest, 'name: p\nversion: 2.0.0\n');
    expect((await reload('p')).spec.version).to.equal('2.0.0');
    await writeFile(manifest, 'name: p\nversion: two\n');
    const { status } = await reload('p');
    expect([status?.phase, status?.reason]).to.deep.equal(['Failed', 'Refused']);
    expect(status?.message).to.include('version: must be a version such as 1.0.0');
    await writeFile(manifest, 'name: q\nversion: 2.0.0\n');
    expect((await reload('p')).status?.message).to.equal('plugin.yaml now has the name "q"');
    await writeFile(manifest, 'name: p\nversion: 3.0.0\n');
    expect((await reload('p')).status).to.include({ phase: 'Started', observedVersion: '3.0.0' });
  });

  it('reports file and line of failing code, at the first load and at a reload [slow]', async () => {
    const folder = await startPlugin({ 'dist/greeting.js': `${greeting('')}\nthrow new Error('none today');` });
    const failures = [(await object('p')).status?.message];
    for (const code of [`${greeting('')}throw new Error('nor now');`, '\n\nexport const = 7;', 'export {};']) {
      await writeFile(join(folder, 'dist/greeting.js'), code);
      failures.push((await reload('p')).status?.message);
    }
    expect(failures).to.deep.equal([
      'none today (dist/greeting.js:2)',
      'nor now (dist/greeting.js:1)',
      "dist/greeting.js:3: Unexpected token '='",
      "The requested module '../greeting.js' does not provide an export named 'greeting' (dist/deep/greeting.js:1)",
    ]);
  });

  it("keeps spec.reload of the plugin's object, and restores spec.version when a client changes it", async () => {
    await startPlugin();
    expect((await reload('p')).spec.reload).to.equal(String(reloads));
    await change('p', { version: '9.9.9' });
    expect((await object('p')).spec).to.include({ version: '1.0.0', reload: String(reloads) });
  });

  it('leaves no objects or handles in memory after a hundred reloads [slow]', async () => {
    const program = fileURLToPath(new URL('./reload-leaks.test-support.js', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', program]);
    const { before, after, statuses } = JSON.parse(stdout) as ReloadLeaks;
    expect(after.handles).to.equal(before.handles);
    expect(before.objects).to.have.keys('Function', 'PluginRun');
    for (const [type, count] of Object.entries(after.objects)) {
      expect((count - (before.objects[type] ?? 0)) / 100, `${type}s more a reload`).to.be.below(1);
    }
    expect(statuses).to.deep.equal([{ name: 'p', version: '1.0.0', phase: 'Started' }]);
  });
});
