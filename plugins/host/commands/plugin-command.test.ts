import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, symlink, truncate, writeFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { startApiServer } from '@homeostat/apiserver';
import { PluginServer } from './plugin-command.fixture.ts';
import type { Finished } from './run-command.fixture.ts';
import { makeFolder, makePlugin, removeFolders } from '../package/plugin-folder.fixture.ts';
import { PluginHost } from '../host/plugin-host.ts';
import { pluginsDirPage } from '../serve/plugins-dir.ts';
import { npmTarball, pluginFiles } from '../install/tarball.fixture.ts';
import { TestRegistry } from '../install/registry.fixture.ts';
import { widgetModel } from '../widget.fixture.ts';

const fixture = new URL('../widget.fixture.js', import.meta.url).href;
const main = `import { widgetModel } from '${fixture}';\nexport default { models: [widgetModel()] };`;
const widget = (name: string): string =>
  `apiVersion: widgets.example.com/v1\nkind: Widget\nmetadata: { name: ${name} }\nspec: { size: 1 }\n`;

describe('homeostat plugin', () => {
  let plugins: PluginServer;
  let pluginsDir: string;

  beforeEach(async () => {
    plugins = await PluginServer.start();
    ({ pluginsDir } = plugins);
  });

  afterEach(async () => {
    await plugins.stop();
    await removeFolders();
  });

  const plugin = async (args: readonly string[], environment = {}): Promise<Finished> =>
    plugins.command(args, { environment });
  const installed = async (): Promise<readonly string[]> => plugins.installed();

  const makeDemo = (version: string, files: Readonly<Record<string, string>> = {}): Promise<string> =>
    makePlugin('demo', main, { 'plugin.yaml': `name: demo\nversion: ${version}\n`, ...files });

  it('installs a folder, replaces it by an archive, disables, enables and uninstalls it while the server runs', async () => {
    expect(await plugin(['install', await makeDemo('1.0.0')])).to.deep.equal({
      code: 0,
      stdout: 'installed demo 1.0.0\ndemo is Started\n',
      stderr: '',
    });
    const folder = await makeDemo('2.0.0');
    execFileSync('tar', ['--transform', 's/^[.]/package/', '-czf', join(dirname(pluginsDir), 'demo.tgz'), '.'], {
      cwd: folder,
    });
    expect(await plugin(['install', join(dirname(pluginsDir), 'demo.tgz')])).to.include({
      code: 0,
      stdout: 'installed demo 2.0.0, in place of 1.0.0\ndemo is Started\n',
    });
    expect(await plugin(['disable', 'demo'])).to.include({ code: 0, stdout: 'demo is Stopped\n' });
    expect((await plugin(['list'])).stdout).to.equal(
      'NAME  VERSION  ENABLED  PHASE    REASON\ndemo  2.0.0    no       Stopped  Disabled\n',
    );
    expect(await plugin(['enable', 'demo'])).to.include({ code: 0, stdout: 'demo is Started\n' });
    expect(await plugin(['uninstall', 'demo'])).to.include({ code: 0, stdout: 'demo is Stopped\nuninstalled demo\n' });
    await eventually(() => plugins.host.statuses().length === 0);
    expect((await plugin(['list'])).stdout).to.equal('NAME  VERSION  ENABLED  PHASE  REASON\n');
    expect(await installed()).to.deep.equal([]);
  });

  it('uploads an archive to the server, replaces the plugin by a second upload, and lets the server uninstall it [spec experience-upload]', async () => {
    const elsewhere = { HOMEOSTAT_PLUGINS_DIR: '' };
    const file = join(dirname(pluginsDir), 'demo.tgz');
    const upload = async (version: string): Promise<Finished> => {
      const files = { ...pluginFiles(), 'plugin.yaml': `name: demo\nversion: ${version}\n` };
      await writeFile(
        file,
        npmTarball({ ...files, 'resources/extensions/w.yaml': widget('own'), 'dist/index.js': main }),
      );
      return plugin(['install', file], elsewhere);
    };
    expect(await upload('1.0.0')).to.deep.equal({
      code: 0,
      stdout: 'installed demo 1.0.0\ndemo is Started\n',
      stderr: '',
    });
    await plugin(['disable', 'demo']);
    expect((await upload('2.0.0')).stdout).to.equal('installed demo 2.0.0, in place of 1.0.0\ndemo is Stopped\n');
    expect(await installed()).to.deep.equal(['demo']);
    await plugin(['enable', 'demo']);
    expect(await plugin(['uninstall', 'demo', '--purge'], elsewhere)).to.deep.equal({
      code: 0,
      stdout: 'deleted 1 declared object\nuninstalled demo\n',
      stderr: '',
    });
    expect(await installed()).to.deep.equal([]);
    await eventually(() => plugins.host.statuses().length === 0);
  });

  it('uploads the files of a folder that npm would publish, or all visible files if npm cannot publish it [slow]', async () => {
    const elsewhere = { HOMEOSTAT_PLUGINS_DIR: '' };
    const unpublished = await makeDemo('1.0.0', {
      '.secret': 'x',
      'notes.txt': 'x',
      'package.json': '{"type":"module"}',
    });
    expect(await plugin(['install', unpublished], elsewhere)).to.deep.equal({
      code: 0,
      stdout: 'installed demo 1.0.0\ndemo is Started\n',
      stderr: '',
    });
    expect(await plugins.filesOf('demo'))
      .to.include('notes.txt')
      .and.not.include('.secret');
    const packageJson = JSON.stringify({
      name: 'demo',
      version: '2.0.0',
      type: 'module',
      files: ['dist', 'plugin.yaml'],
    });
    const published = await makeDemo('2.0.0', { 'notes.txt': 'x', 'package.json': packageJson });
    expect((await plugin(['install', published], elsewhere)).stdout).to.equal(
      'installed demo 2.0.0, in place of 1.0.0\ndemo is Started\n',
    );
    expect(await plugins.filesOf('demo'))
      .to.include('dist/index.js')
      .and.not.include('notes.txt');
  });

  it('deletes with --purge only the declared objects that the plugin has created at its start [slow]', async () => {
    const model = widgetModel();
    const files = { 'resources/extensions/w.yaml': `${widget('own')}---\n${widget('shared')}` };
    const { server } = plugins;
    const setup = server.schemeManager.forOwner('setup', {});
    setup.register(model);
    await server.client.create(model, { metadata: { name: 'shared' }, spec: { size: 1 } });
    setup.unregister(model);
    await plugin(['install', await makeDemo('1.0.0', files)]);
    const annotations = { 'plugin.homeostat.internal/created-by': 'demo' };
    await server.client.create(model, { metadata: { name: 'copied', annotations }, spec: { size: 1 } });
    await server.createPluginClient('demo').create(model, { metadata: { name: 'made-by-code' }, spec: { size: 1 } });
    await plugin(['disable', 'demo']);
    expect(await plugin(['uninstall', 'demo', '--purge'])).to.deep.equal({
      code: 1,
      stdout: '',
      stderr:
        'homeostat plugin uninstall failed: plugin "demo" is Stopped: its objects can only be purged while it is Started; enable it first\n',
    });
    await plugin(['enable', 'demo']);
    expect((await plugin(['uninstall', 'demo', '--purge'])).stdout).to.equal(
      'deleted 1 declared object\ndemo is Stopped\nuninstalled demo\n',
    );
    setup.register(model);
    await server.whenReady(model);
    const { items } = await server.client.list(model, { sort: 'metadata.name,asc' });
    expect(items.map(({ metadata }) => metadata.name)).to.deep.equal(['copied', 'made-by-code', 'shared']);
    setup.unregister(model);
  });

  it('keeps the objects of an uninstalled plugin without --purge [slow]', async () => {
    await plugin(['install', await makeDemo('1.0.0', { 'resources/extensions/w.yaml': widget('own') })]);
    await plugin(['uninstall', 'demo']);
    await plugin(['install', await makeDemo('1.0.0')]);
    expect((await plugins.server.client.list(widgetModel())).items.map(({ metadata }) => metadata.name)).to.deep.equal([
      'own',
    ]);
  });

  it('installs a package from the npm registry, and runs none of its scripts [slow]', async () => {
    const trace = join(dirname(pluginsDir), 'script-ran');
    const script = `touch ${trace}`;
    const registry = new TestRegistry();
    registry.add({
      manifest: {
        name: 'demo-plugin',
        version: '3.0.0',
        type: 'module',
        scripts: { install: script, prepare: script, prepack: script },
      },
      files: { 'plugin.yaml': 'name: demo\nversion: 3.0.0\n', 'dist/index.js': main },
    });
    await registry.start();
    const environment = { npm_config_registry: registry.url, npm_config_cache: join(dirname(pluginsDir), 'cache') };
    const finished = await plugin(['install', 'demo-plugin@^3.0.0'], environment);
    const uploaded = await plugin(['install', 'demo-plugin@^3.0.0'], { ...environment, HOMEOSTAT_PLUGINS_DIR: '' });
    await registry.stop();
    expect(uploaded.stdout).to.equal('installed demo 3.0.0, in place of 3.0.0\ndemo is Started\n');
    expect(finished).to.include({ code: 0, stdout: 'installed demo 3.0.0\ndemo is Started\n' });
    expect(await readdir(dirname(trace))).to.not.include('script-ran');
  });

  describe('with a mistake', () => {
    const wrong: readonly (readonly [
      name: string,
      code: number,
      says: string,
      args: () => Promise<readonly string[]>,
    ])[] = [
      ['an unknown plugin', 1, 'there is no plugin "nope"', async () => ['enable', 'nope']],
      [
        'a source that is neither a path nor the name of a package',
        1,
        'is not a folder, a file, or the name of a package',
        async () => ['install', 'git+ssh://x/y'],
      ],
      ['a source that is an option of npm', 2, 'unknown option', async () => ['install', '--pack-destination=/']],
      [
        'a folder without a manifest',
        1,
        'homeostat-none: is not a plugin, because it has no plugin.yaml',
        async () => {
          const folder = join(await makeFolder({}), 'homeostat-none');
          await mkdir(folder);
          return ['install', folder];
        },
      ],
      [
        'a plugin that is not built',
        1,
        'dist/index.js does not exist: build the plugin first',
        async () => ['install', await makeFolder({ 'plugin.yaml': 'name: demo\nversion: 1.0.0\n' })],
      ],
      [
        'a package that would be published without its code [slow]',
        1,
        'npm pack leaves out dist/index.js: name it in "files" of package.json',
        async () => {
          const content = { name: 'demo', version: '1.0.0', files: ['plugin.yaml'] };
          return ['install', await makeDemo('1.0.0', { 'package.json': JSON.stringify(content) })];
        },
      ],
      [
        'a manifest whose name is a path',
        1,
        'name: ',
        async () => ['install', await makeFolder({ 'plugin.yaml': 'name: ../../x\nversion: 1.0.0\n' })],
      ],
      [
        'a plugin that requires another host',
        1,
        'requires homeostat ^9.0.0',
        async () => [
          'install',
          await makeDemo('1.0.0', { 'plugin.yaml': 'name: demo\nversion: 1.0.0\nrequires: ^9.0.0\n' }),
        ],
      ],
      [
        'a link to a file outside of the plugin',
        1,
        "leads out of the plugin's folder",
        async () => {
          const folder = await makeDemo('1.0.0');
          await symlink('/etc/passwd', join(folder, 'secrets'));
          return ['install', folder];
        },
      ],
      [
        'a token that is wrong',
        1,
        "Unauthorized: give the server's token: --token, or better HOMEOSTAT_TOKEN, or name its kubeconfig in HOMEOSTAT_KUBECONFIG\n",
        async () => ['install', await makeDemo('1.0.0'), '--token', 'x'.repeat(16)],
      ],
      [
        'a folder of plugins that does not exist',
        2,
        '--plugins-dir: /nowhere/plugins: there is no such folder: create it first, or name another one\n',
        async () => ['install', await makeDemo('1.0.0'), '--plugins-dir', '/nowhere/plugins'],
      ],
      [
        'a service domain that is not the domain of the server',
        1,
        'the server has no plugins of the domain "example.internal": give the service domain',
        async () => ['install', await makeDemo('1.0.0'), '--service-domain', 'example.internal'],
      ],
      [
        'an upload with --run-scripts',
        2,
        "--run-scripts: a server runs no scripts of an uploaded plugin: use --plugins-dir on the server's machine",
        async () => ['install', await makeDemo('1.0.0'), '--run-scripts', '--plugins-dir', ''],
      ],
      [
        'an upload of a folder that is no plugin',
        1,
        'plugin.yaml',
        async () => ['install', await makeFolder({ 'dist/index.js': main }), '--plugins-dir', ''],
      ],
      [
        'an upload of a plugin that is not built',
        1,
        'dist/index.js',
        async () => [
          'install',
          await makeFolder({ 'plugin.yaml': 'name: demo\nversion: 1.0.0\n' }),
          '--plugins-dir',
          '',
        ],
      ],
      [
        'an upload of a source that is neither a path nor the name of a package',
        1,
        './nowhere: is not a folder, a file, or the name of a package',
        async () => ['install', './nowhere', '--plugins-dir', ''],
      ],
      [
        'an upload that is too large',
        1,
        'is larger than 64 MiB, the maximum that a server accepts',
        async () => {
          const file = join(await makeFolder({}), 'large.tgz');
          await writeFile(file, '');
          await truncate(file, 64 * 1024 * 1024 + 1);
          return ['install', file, '--plugins-dir', ''];
        },
      ],
      [
        'an upload that is no archive',
        1,
        'the plugin cannot be installed: the archive: ',
        async () => ['install', join(await makeDemo('1.0.0'), 'plugin.yaml'), '--plugins-dir', ''],
      ],
      [
        'an absent plugin that the server uninstalls',
        1,
        'there is no plugin "demo" in the server\'s folder of plugins',
        async () => ['uninstall', 'demo', '--plugins-dir', ''],
      ],
      ['an unknown verb', 2, "unknown command 'frob'", async () => ['frob']],
    ];
    for (const [name, code, says, args] of wrong) {
      it(`reports ${name}, and changes nothing`, async () => {
        const finished = await plugin(await args());
        expect(finished).to.include({ code, stdout: '' });
        expect(finished.stderr).to.include(says);
        expect(await installed().catch(() => [])).to.deep.equal([]);
      });
    }
  });

  it('gives a plugin the homeostat package of the host, whatever version its package.json requires', async () => {
    const folder = await makePlugin(
      'demo',
      "import { definePlugin, defineModel } from 'homeostat';\nimport { isNotFound } from '@homeostat/controller-runtime/api';\n" +
        "const schema = { type: 'object', properties: { spec: { type: 'object', properties: { is: { type: 'boolean', default: isNotFound(0) } } } } };\n" +
        "export default definePlugin({ models: [defineModel({ gvk: 'demo.example.com/v1/Demo', plural: 'demos', schema })] });",
    );
    const needs = { dependencies: { homeostat: '^99.0.0', '@homeostat/controller-runtime': '^99.0.0' } };
    await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'demo', type: 'module', ...needs }));
    expect(await plugin(['install', folder])).to.include({ code: 0, stderr: '' });
    expect(await plugin(['list']))
      .to.have.property('stdout')
      .that.includes('Started')
      .and.not.includes('node_modules');
  });

  const belongings = {
    'data/homeostat.db': 'a database',
    '.git/HEAD': 'a commit',
    'node_modules/typescript/package.json': '{}',
    'dist/index.test.js': 'a test',
    'texts/hello.txt': 'Hello',
  };

  it('copies only the files of a folder that npm would publish [slow]', async () => {
    const files = ['dist', '!dist/**/*.test.*', 'plugin.yaml'];
    const content = { name: 'demo', version: '1.0.0', type: 'module', files, devDependencies: { typescript: '7.0.2' } };
    const folder = await makeDemo('1.0.0', { ...belongings, 'package.json': JSON.stringify(content) });
    expect(await plugin(['install', folder])).to.include({ code: 0, stderr: '' });
    expect(await plugins.filesOf('demo')).to.deep.equal(['dist/index.js', 'package.json', 'plugin.yaml']);
  });

  it('copies all files except hidden files, data and node_modules from a folder that npm cannot publish', async () => {
    expect(await plugin(['install', await makeDemo('1.0.0', belongings)])).to.include({ code: 0, stderr: '' });
    const files = ['dist/index.js', 'dist/index.test.js', 'package.json', 'plugin.yaml', 'texts/hello.txt'];
    expect(await plugins.filesOf('demo')).to.deep.equal(files);
  });

  it('does not install a copy of homeostat from the bundled dependencies of a plugin [slow]', async () => {
    const content = {
      name: 'demo',
      version: '1.0.0',
      type: 'module',
      dependencies: { homeostat: '^0.1.0', other: '1' },
    };
    const folder = await makePlugin(
      'demo',
      "import { definePlugin } from 'homeostat';\nimport 'other';\nexport default definePlugin({});",
      {
        'package.json': JSON.stringify({ ...content, bundleDependencies: true }),
        'node_modules/homeostat/package.json': '{"name": "homeostat", "version": "0.1.0", "exports": "../index.js"}',
        'node_modules/homeostat/index.js': "throw new Error('a second copy');",
        'node_modules/other/package.json': '{"name": "other", "version": "1.0.0"}',
        'node_modules/other/index.js': '',
      },
    );
    expect(await plugin(['install', folder])).to.include({ code: 0, stderr: '' });
    expect(await readdir(join(pluginsDir, 'demo', 'node_modules'))).to.deep.equal(['other']);
  });

  it('refuses a folder that contains the folder of plugins, and copies nothing', async () => {
    const folder = dirname(pluginsDir);
    await mkdir(join(folder, 'dist'));
    await writeFile(join(folder, 'plugin.yaml'), 'name: demo\nversion: 1.0.0\n');
    await writeFile(join(folder, 'dist', 'index.js'), main);
    expect(await plugin(['install', folder])).to.deep.equal({
      code: 1,
      stdout: '',
      stderr: `homeostat plugin install failed: ${folder}: contains the folder of installed plugins, ${pluginsDir}: choose another --plugins-dir\n`,
    });
    expect(await readdir(pluginsDir)).to.deep.equal([]);
  });

  it('installs into a folder of plugins that is a symbolic link, and accepts links that stay inside the plugin', async () => {
    const link = join(dirname(pluginsDir), 'link');
    await symlink(pluginsDir, link);
    const folder = await makeDemo('1.0.0');
    await symlink('plugin.yaml', join(folder, 'same.yaml'));
    expect(await plugin(['install', folder, '--plugins-dir', link])).to.include({ code: 0, stderr: '' });
    expect(await installed()).to.deep.equal(['demo']);
  });

  it('keeps the installed version when a newer version cannot be installed [slow]', async () => {
    await plugin(['install', await makeDemo('1.0.0')]);
    const folder = await makeDemo('2.0.0', { 'plugin.yaml': 'name: demo\nversion: two\n' });
    expect((await plugin(['install', folder])).code).to.equal(1);
    expect((await plugin(['list'])).stdout).to.include('demo  1.0.0    yes      Started');
    expect(await installed()).to.deep.equal(['demo']);
  });

  it('exits with 1 and the reason when an installed plugin does not start', async () => {
    const finished = await plugin(['install', await makePlugin('demo', "throw new Error('broken');")]);
    expect(finished).to.deep.equal({
      code: 1,
      stdout: 'installed demo 1.0.0\n',
      stderr: 'homeostat plugin install failed: plugin "demo" is Failed: broken (dist/index.js:1)\n',
    });
  });

  it("installs into the server's folder, even when the server reports another inode number for the folder [slow]", async () => {
    const page = pluginsDirPage(pluginsDir);
    const other = await startApiServer({ database: 'memory:', port: 0 });
    other.addDebugPage({ ...page, index: () => ({ ...Object(page.index()), id: '0:0' }) as object });
    const host = new PluginHost({ server: other, pluginsDir });
    await host.start();
    const link = join(dirname(pluginsDir), 'link');
    await symlink(pluginsDir, link);
    const finished = await plugin(['install', await makeDemo('1.0.0'), '--server', other.url, '--plugins-dir', link]);
    await host.stop();
    await other.stop();
    expect(finished).to.include({ code: 0, stderr: '' });
    expect(await installed()).to.deep.equal(['demo']);
  });

  for (const verb of ['install', 'uninstall']) {
    it(`refuses a --plugins-dir that is not the server's folder, and ${verb}s nothing`, async () => {
      const folder = await makeDemo('1.0.0');
      if (verb === 'uninstall') await plugin(['install', folder]);
      const elsewhere = await makeFolder({ 'demo/plugin.yaml': 'name: demo\nversion: 1.0.0\n' });
      const operand = verb === 'install' ? folder : 'demo';
      expect(await plugin([verb, operand, '--plugins-dir', elsewhere])).to.deep.equal({
        code: 1,
        stdout: '',
        stderr: `homeostat plugin ${verb} failed: --plugins-dir: ${elsewhere} is not the server's folder of plugins, which is ${pluginsDir}\n`,
      });
      expect(await readdir(elsewhere)).to.deep.equal(['demo']);
      expect(plugins.host.statuses()).to.have.length(verb === 'install' ? 0 : 1);
    });
  }

  it('refuses a server without a folder of plugins', async () => {
    const other = await startApiServer({ database: 'memory:', port: 0 });
    other.addDebugPage(pluginsDirPage(undefined));
    const host = new PluginHost({ server: other });
    await host.start();
    const finished = await plugin(['install', await makeDemo('1.0.0'), '--server', other.url]);
    await host.stop();
    await other.stop();
    expect(finished.stderr).to.include('the server has no folder of plugins: start it with --plugins-dir');
    expect(finished.code).to.equal(1);
    expect(await readdir(pluginsDir)).to.deep.equal([]);
  });

  it('the next start of the host starts installed plugins, and reports a plugin as Failed if its name is not that of its folder', async () => {
    await plugin(['install', await makeDemo('1.0.0')]);
    await plugins.host.stop();
    await mkdir(join(pluginsDir, 'other'));
    await writeFile(join(pluginsDir, 'other', 'plugin.yaml'), 'name: else\nversion: 1.0.0\n');
    plugins.host = new PluginHost({ server: plugins.server, pluginsDir });
    await plugins.host.addInstalled();
    await plugins.host.start();
    const statuses = plugins.host
      .statuses()
      .map(({ name, phase, reason = '' }) => [name, phase, /must have the name of the plugin/.test(reason)]);
    expect(statuses).to.deep.equal([
      ['demo', 'Started', false],
      ['other', 'Failed', true],
    ]);
    await rm(join(pluginsDir, 'other'), { recursive: true });
  });
});
