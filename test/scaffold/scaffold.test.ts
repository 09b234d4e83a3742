import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execute } from './execute.ts';
import type { Executed } from './execute.ts';
import { LocalRegistry } from './local-registry.ts';
import { packPackages } from './packed-packages.ts';
import type { PackedPackage } from './packed-packages.ts';
import { RunningCommand } from './running-command.ts';

/** The entry points of Homeostat's packages that the test imports in a file of the plugin that it has created. */
const entries = [
  'homeostat',
  'homeostat/testing',
  '@homeostat/apiserver',
  '@homeostat/controller-runtime',
  '@homeostat/controller-runtime/api',
  '@homeostat/controller-runtime/telemetry',
  '@homeostat/controller-runtime/testing',
];

/** The compiler of TypeScript 5.9, which is installed for this test. A new plugin has TypeScript 7. */
const olderCompiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');

/** The time limit for installing, compiling and testing several times, while other tests run. */
const timeoutMs = 240_000;

interface SourceMap {
  readonly sources: readonly string[];
  readonly sourcesContent: readonly unknown[];
}

describe('npm create homeostat [slow]', function () {
  this.timeout(timeoutMs);
  let folder: string;
  let packed: readonly PackedPackage[];
  let registry: LocalRegistry | undefined;
  let running: RunningCommand | undefined;
  /** The folder of the plugin that one test creates and the next one installs. */
  let plugin: string;

  before(async function () {
    await execute('tar', ['--version'], { cwd: '.' }).catch((error: unknown) =>
      this.skipBecause('there is no tar, with which the registry of the test packs its packages', error),
    );
    folder = await mkdtemp(join(tmpdir(), 'homeostat-scaffold-'));
    plugin = join(folder, 'my-plugin');
    packed = await packPackages(folder);
    registry = await LocalRegistry.start(packed);
  });

  after(async () => {
    await running?.stop();
    await registry?.stop();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  const npm = async (cwd: string, ...args: string[]): Promise<Executed> => {
    const environment = {
      npm_config_registry: registry?.url ?? '',
      npm_config_cache: join(folder, 'cache'),
      npm_config_userconfig: join(folder, '.npmrc'),
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
      // The packages in the registry already contain the results of their install scripts.
      npm_config_ignore_scripts: 'true',
    };
    return execute('npm', args, { cwd, environment });
  };

  /**
   * Compiles, in the folder of the plugin, a file that imports all `entries`: with an older version of TypeScript and
   * with the plugin's version. Both compilers also check the declarations of the packages.
   */
  async function compileEntries(): Promise<void> {
    const file = join(plugin, 'entries.ts');
    await writeFile(file, entries.map((entry) => `export type {} from '${entry}';\nimport '${entry}';\n`).join(''));
    const compilers = [olderCompiler, join(plugin, 'node_modules', 'typescript', 'bin', 'tsc')];
    const versions: string[] = [];
    for (const compiler of compilers) {
      const flags = ['--project', '.', '--noEmit', '--skipLibCheck', 'false'];
      await execute(process.execPath, [compiler, ...flags], { cwd: plugin });
      const { stdout } = await execute(process.execPath, [compiler, '--version'], { cwd: plugin });
      versions.push(/\d+\.\d+/.exec(stdout)?.[0] ?? stdout);
    }
    expect(versions).to.deep.equal(['5.9', '7.0']);
    await rm(file);
  }

  it('comes from packages without tests, but with README, LICENSE, types, and source maps that contain their sources [spec experience-packages]', async () => {
    for (const { name, files, tarball } of packed) {
      const paths = files.map(({ path }) => path);
      expect(paths, name).to.include.members([
        'package.json',
        'README.md',
        'LICENSE',
        name === '@homeostat/console' ? 'dist/index.js' : 'dist/bundle/index.js',
        'dist/index.d.ts',
      ]);
      expect(
        paths.filter((path) => /\.(?:test|contract|fixture|test-support)\.|tsbuildinfo/.test(path)),
        name,
      ).to.deep.equal([]);
      const maps = paths.filter((path) => /^dist\/.*\.js\.map$/.test(path));
      expect(maps, name).to.not.deep.equal([]);
      for (const path of maps) {
        const { stdout } = await execute('tar', ['-xOzf', tarball, `package/${path}`], { cwd: folder });
        const { sources, sourcesContent } = JSON.parse(stdout) as SourceMap;
        expect(sourcesContent.filter(Boolean).length, path).to.equal(sources.length).and.to.be.above(0);
      }
    }
  });

  it('makes a plugin that passes lint, compiler and tests, can be extended, and runs [spec experience-walk]', async () => {
    const beginMs = performance.now();
    await npm(
      folder,
      'create',
      '--yes',
      'homeostat',
      'my-plugin',
      '--',
      '--kind',
      'Order',
      '--group',
      'shop.example.com',
    );
    await npm(plugin, 'install');
    const madeMs = performance.now() - beginMs;

    await npm(plugin, 'run', 'lint');
    await npm(plugin, 'test');
    await compileEntries();
    for (const part of [
      ['kind', 'Invoice'],
      ['controller', 'invoice'],
      ['endpoint', 'total'],
    ])
      await npm(plugin, 'exec', 'homeostat', 'new', ...part);
    await npm(plugin, 'run', 'lint');
    const { stdout } = await npm(plugin, 'test');
    for (const tested of ['Invoice', 'invoiceController', 'totalRoutes']) expect(stdout).to.include(tested);

    await rm(join(plugin, 'dist'), { recursive: true });
    const devMs = performance.now();
    const dev = new RunningCommand(homeostat(), ['dev', '--port', '0'], plugin);
    running = dev;
    const url = await dev.url();
    const greeting = async (): Promise<string | undefined> => {
      const response = await fetch(`${url}/apis/shop.example.com/v1alpha1/orders/world`);
      return ((await response.json()) as { status?: { greeting?: string } }).status?.greeting;
    };
    await eventually(async () => (await greeting()) === 'Hello World');
    const reconciledMs = madeMs + performance.now() - devMs;
    console.log(`    from npm create to the first reconciled object: ${(reconciledMs / 1000).toFixed(1)} s`);

    await dev.said(/waiting for changes/);
    const controller = join(plugin, 'controllers', 'order.ts');
    const source = await readFile(controller, 'utf8');
    await writeFile(controller, source.replace('Hello', 'Welcome').replace('spec.name', 'spec.nothing'));
    await dev.said(/order\.ts.* error .*nothing[^]*nothing is reloaded/);
    expect(await greeting()).to.equal('Hello World');
    await writeFile(controller, `${source}throw new Error('not today');\n`);
    await dev.said(/not reloaded: not today \(controllers\/order\.ts:\d+\)/);
    await writeFile(controller, source.replace('Hello', 'Welcome'));
    await eventually(async () => (await greeting()) === 'Welcome World', { timeoutMs: 60_000 });
    expect(await dev.stop()).to.equal(0);
  });

  it('makes a plugin that a server with credentials can install, plan, upgrade and uninstall [spec experience-walk]', async () => {
    const server = join(folder, 'server');
    await mkdir(join(server, 'plugins'), { recursive: true });
    const serve = new RunningCommand(homeostat(), ['serve', '--port', '0', '--plugins-dir', 'plugins'], server);
    running = serve;
    const url = await serve.url();
    const command = async (...args: string[]): Promise<string> =>
      (await execute(homeostat(), args, { cwd: server, environment: { HOMEOSTAT_PLUGINS_DIR: 'plugins' } })).stdout;
    const greeting = async (): Promise<string> => command('get', 'order', 'world', '-o', 'jsonpath={.status.greeting}');

    await npm(plugin, 'pack');
    await command('plugin', 'install', join(plugin, 'my-plugin-0.1.0.tgz'));
    expect((await fetch(`${url}/apis/shop.example.com/v1alpha1/orders`)).status).to.equal(401);
    await eventually(async () => (await greeting()) === 'Welcome World', { timeoutMs: 60_000 });

    for (const file of ['controllers/order.ts', 'controllers/order.test.ts', 'index.test.ts'])
      await replaceIn(join(plugin, file), /Hello|Welcome/g, 'Good day,');
    for (const file of ['package.json', 'plugin.yaml'])
      await replaceIn(join(plugin, file), /(?<=^ *"?version"?: "?)[\d.]+/m, '0.2.0');
    await npm(plugin, 'test');
    await npm(plugin, 'pack');
    const plan: unknown = await command('plan', '--plugin', plugin, '--from', url).catch((error: unknown) => error);
    expect(plan).to.have.nested.property('cause.code', 2);
    expect(String(plan)).to.match(/\+ +greeting: Good day, World[^]*0 to create, 1 to change, 0 to delete/);
    expect(await greeting()).to.equal('Welcome World');
    await command('plugin', 'install', join(plugin, 'my-plugin-0.2.0.tgz'));
    await eventually(async () => (await greeting()) === 'Good day, World', { timeoutMs: 60_000 });
    expect(await command('plugin', 'list')).to.match(/my-plugin +0\.2\.0/);

    await command('plugin', 'uninstall', 'my-plugin', '--purge');
    expect(await command('plugin', 'list')).to.not.include('my-plugin');
    expect(await serve.stop()).to.equal(0);
  });

  /** Returns the path of the command line that is installed in the plugin. */
  function homeostat(): string {
    return join(plugin, 'node_modules', '.bin', 'homeostat');
  }
});

async function replaceIn(file: string, pattern: RegExp, text: string): Promise<void> {
  await writeFile(file, (await readFile(file, 'utf8')).replace(pattern, text));
}
