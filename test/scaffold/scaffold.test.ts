import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execute } from './execute.ts';
import { LocalRegistry } from './local-registry.ts';
import { packPackages } from './packed-packages.ts';
import type { PackedPackage } from './packed-packages.ts';

/** All published packages. */
const entries = [
  'homeostat',
  'homeostat/testing',
  '@homeostat/apiserver',
  '@homeostat/controller-runtime',
  '@homeostat/controller-runtime/api',
  '@homeostat/controller-runtime/telemetry',
  '@homeostat/controller-runtime/testing',
];

/** TypeScript 5.9, which is installed for this test; a new plugin has TypeScript 7. */
const olderCompiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');

/** Installing, compiling and testing, several times over, beside other tests. */
const timeoutMs = 240_000;

describe('npm create homeostat [slow]', function () {
  this.timeout(timeoutMs);
  let folder: string;
  let packed: readonly PackedPackage[];
  let registry: LocalRegistry | undefined;
  let child: ChildProcess | undefined;

  before(async function () {
    await execute('tar', ['--version'], { cwd: '.' }).catch((error: unknown) =>
      this.skipBecause('there is no tar, which packs what the registry of the test serves', error),
    );
    folder = await mkdtemp(join(tmpdir(), 'homeostat-scaffold-'));
    packed = await packPackages(folder);
    registry = await LocalRegistry.start(packed);
  });

  after(async () => {
    if (child?.exitCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await registry?.stop();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  /** The types of all entries compile in a plugin that checks the declarations of its packages, too. */
  async function compileEntries(plugin: string): Promise<void> {
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

  it('packs what is public: no tests, with README, LICENSE, types, and maps that hold their sources', async () => {
    for (const { name, files, tarball } of packed) {
      const paths = files.map(({ path }) => path);
      expect(paths, name).to.include.members([
        'package.json',
        'README.md',
        'LICENSE',
        'dist/index.js',
        'dist/index.d.ts',
      ]);
      expect(
        paths.filter((path) => /\.(?:test|contract|fixture|test-support)\.|tsbuildinfo/.test(path)),
        name,
      ).to.deep.equal([]);
      const { stdout } = await execute('tar', ['-xOzf', tarball, 'package/dist/index.js.map'], { cwd: folder });
      expect((JSON.parse(stdout) as { sourcesContent: unknown[] }).sourcesContent, name).to.have.length(1);
    }
  });

  it('makes a plugin that passes lint, types and tests, is added to, and runs', async () => {
    const npmConfig = {
      npm_config_registry: registry!.url,
      npm_config_cache: join(folder, 'cache'),
      npm_config_userconfig: join(folder, '.npmrc'),
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
      // The packages of the registry already contain the result of their builds.
      npm_config_ignore_scripts: 'true',
    };
    const plugin = join(folder, 'my-plugin');
    const npm = async (cwd: string, ...args: string[]) => execute('npm', args, { cwd, environment: npmConfig });
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
    await compileEntries(plugin);
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
    child = spawn(join('node_modules', '.bin', 'homeostat'), ['dev', '--port', '0'], { cwd: plugin });
    let output = '';
    child.stdout?.on('data', (chunk) => (output += String(chunk)));
    child.stderr?.on('data', (chunk) => (output += String(chunk)));
    const said = async (pattern: RegExp) =>
      eventually(() => pattern.exec(output), { timeoutMs: 60_000, describe: () => `${String(pattern)} in\n${output}` });
    const url = JSON.parse((await said(/^\{.*"msg":"ready".*\}$/m))[0]) as { url: string };
    const greeting = async (): Promise<string | undefined> => {
      const response = await fetch(`${url.url}/apis/shop.example.com/v1alpha1/orders/world`);
      return ((await response.json()) as { status?: { greeting?: string } }).status?.greeting;
    };
    await eventually(async () => (await greeting()) === 'Hello World');
    const reconciledMs = madeMs + performance.now() - devMs;
    console.log(`    from npm create to the first reconciled object: ${(reconciledMs / 1000).toFixed(1)} s`);

    await said(/waiting for changes/);
    const controller = join(plugin, 'controllers', 'order.ts');
    const source = await readFile(controller, 'utf8');
    await writeFile(controller, source.replace('Hello', 'Welcome').replace('spec.name', 'spec.nothing'));
    await said(/order\.ts.* error .*nothing[^]*nothing is reloaded/);
    expect(await greeting()).to.equal('Hello World');
    await writeFile(controller, `${source}throw new Error('not today');\n`);
    await said(/not reloaded: not today \(controllers\/order\.ts:\d+\)/);
    await writeFile(controller, source.replace('Hello', 'Welcome'));
    await eventually(async () => (await greeting()) === 'Welcome World', { timeoutMs: 60_000 });
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect((await exited) as unknown[]).to.deep.equal([0, null]);
  });
});
