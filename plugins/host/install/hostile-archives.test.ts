import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import semver from 'semver';
import { PluginServer } from '../commands/plugin-command.fixture.ts';
import type { Finished } from '../commands/run-command.fixture.ts';
import { makeFolder, removeFolders } from '../package/plugin-folder.fixture.ts';
import { TestRegistry } from './registry.fixture.ts';
import { npmTarball, pluginFiles } from './tarball.fixture.ts';

const secret = 'the-secret-of-the-operator';

/** Skips the test when npm is too old for plugins with dependencies. */
function requireNpm(context: Mocha.Context): void {
  const version = execFileSync('npm', ['--version'], { encoding: 'utf8' }).trim();
  if (semver.gte(version, '11.14.0')) return;
  context.skipBecause(`this test needs npm 11.14.0 or newer, not ${version}: npm install -g npm@11`);
}

describe('homeostat plugin install of a hostile archive', () => {
  let plugins: PluginServer;
  let registry: TestRegistry;
  /** The registry that hostile settings and lock files name. npm must never send a request to it. */
  let foreign: TestRegistry;
  let folder: string;
  let archive: string;

  before(function () {
    requireNpm(this);
  });

  beforeEach(async () => {
    plugins = await PluginServer.start();
    registry = new TestRegistry();
    foreign = new TestRegistry();
    for (const each of [registry, foreign]) {
      each.add({ manifest: { name: 'helper', version: '1.0.0' }, files: { 'index.js': '' } });
      await each.start();
    }
    folder = await makeFolder({});
    archive = join(folder, 'demo.tgz');
  });

  afterEach(async () => {
    await registry.stop();
    await foreign.stop();
    await plugins.stop();
    await removeFolders();
  });

  interface InstallOptions {
    readonly args?: readonly string[];
    readonly environment?: Readonly<Record<string, string>>;
    readonly cwd?: string;
  }

  /** Installs the archive with npm configured for the registry, and with a secret in the environment. */
  const install = async ({ args = [], environment = {}, cwd }: InstallOptions = {}): Promise<Finished> =>
    plugins.command(['install', archive, ...args], {
      environment: {
        npm_config_registry: registry.url,
        npm_config_cache: join(folder, 'cache'),
        HOME: folder,
        SECRET: secret,
        ...environment,
      },
      ...(cwd === undefined ? {} : { cwd }),
    });

  const expectRefused = async (finished: Finished, message: string): Promise<void> => {
    expect(finished.stderr).to.include(message);
    expect(finished).to.include({ code: 1, stdout: '' });
    expect(await plugins.installed()).to.deep.equal([]);
    expect(foreign.seen).to.deep.equal([]);
  };

  /** npm settings that send the secret to the foreign registry, run a program, and write to other folders. */
  const hostileSettings = (): string =>
    [
      `registry=${foreign.url}`,
      `//${new URL(foreign.url).host}/:_authToken=\${SECRET}`,
      `git=${join(folder, 'program')}`,
      `cache=${join(folder, 'hostile-cache')}`,
      `prefix=${join(folder, 'hostile-prefix')}`,
      'force=true',
      'ignore-scripts=false',
    ].join('\n');

  describe('with npm settings in the archive', () => {
    const settings: Readonly<Record<string, string>> = {
      'a registry whose URL contains a secret': 'registry=http://127.0.0.1:9/${SECRET}/\n',
      'a prefix and global': 'prefix=elsewhere\nglobal=true\nforce=true\n',
      'a program in place of git': 'git=./program\n',
      'a cache elsewhere': 'cache=../../elsewhere\n',
    };
    for (const [what, text] of Object.entries(settings)) {
      it(`refuses an .npmrc with ${what} before it runs npm`, async () => {
        await writeFile(archive, npmTarball({ ...pluginFiles({ helper: '1' }), '.npmrc': text }));
        await expectRefused(await install(), 'package/.npmrc: is a configuration of npm');
        expect(registry.seen).to.deep.equal([]);
      });
    }
  });

  describe('with npm settings outside of the archive [slow]', () => {
    const places: Readonly<Record<string, () => string>> = {
      'the folder of the archive, in which the command runs': () => folder,
      'the folder of plugins': () => plugins.pluginsDir,
      'the project that contains the folder of plugins': () => dirname(plugins.pluginsDir),
    };
    for (const [place, path] of Object.entries(places)) {
      it(`does not let npm read the .npmrc of ${place}`, async () => {
        await writeFile(join(path(), '.npmrc'), hostileSettings());
        await writeFile(join(path(), 'package.json'), '{"workspaces": ["*", "*/*", "*/*/*", ".*/*", "*/.*/*"]}');
        await writeFile(archive, npmTarball(pluginFiles({ helper: '1' })));
        const environment = { HOME: join(folder, 'home') };
        expect(await install({ cwd: folder, environment })).to.include({ code: 0, stderr: '' });
        expect(await plugins.filesOf('demo')).to.include('node_modules/helper/index.js');
        expect(foreign.seen).to.deep.equal([]);
        expect((await readdir(folder)).filter((name) => name.startsWith('hostile-'))).to.deep.equal([]);
      });
    }

    it('does not let npm read the .npmrc of the source folder when it installs a plugin from a folder', async () => {
      const source = await makeFolder({ ...pluginFiles({ helper: '1' }), '.npmrc': hostileSettings() });
      archive = source;
      expect(await install({ cwd: source })).to.include({ code: 0, stderr: '' });
      expect(foreign.seen).to.deep.equal([]);
      expect(await plugins.filesOf('demo'))
        .to.include('node_modules/helper/index.js')
        .and.not.include('.npmrc');
    });
  });

  it('runs scripts of dependencies only with --run-scripts, and without secrets or credentials [slow]', async () => {
    const trace = join(folder, 'trace');
    const dump = `const { npm_config_userconfig: file } = process.env; require('fs').writeFileSync(${JSON.stringify(trace)}, JSON.stringify([process.env, file && require('fs').readFileSync(file, 'utf8')]))`;
    const scripts = { postinstall: 'node dump.js' };
    registry.add({ manifest: { name: 'nosy', version: '1.0.0', scripts }, files: { 'index.js': '', 'dump.js': dump } });
    const token = { [`npm_config_//${new URL(registry.url).host}/:_authToken`]: 'the-token-of-the-registry' };
    await writeFile(archive, npmTarball(pluginFiles({ nosy: '1' })));
    expect(await install({ environment: token })).to.deep.include({ code: 0, stderr: '' });
    expect(await readdir(folder)).to.not.include('trace');
    expect((await install({ environment: token, args: ['--run-scripts'] })).stderr).to.equal('');
    const dumped = await readFile(trace, 'utf8');
    expect(dumped).to.include('"PATH"');
    for (const hidden of [secret, 'correct-horse-battery-staple', 'the-token-of-the-registry'])
      expect(dumped).to.not.include(hidden);
  });

  for (const spec of ['git+http://127.0.0.1:9/x.git', 'file:../../../../elsewhere', 'http://127.0.0.1:9/x.tgz']) {
    it(`refuses a plugin when a dependency requires ${spec}, which is not from the registry, and runs no git [slow]`, async () => {
      const program = join(folder, 'git');
      await writeFile(program, `#!/bin/sh\ntouch ${join(folder, 'trace')}\nexit 1\n`);
      await chmod(program, 0o755);
      await mkdir(join(plugins.pluginsDir, '..', 'elsewhere'), { recursive: true });
      registry.add({ manifest: { name: 'nosy', version: '1.0.0', dependencies: { x: spec } } });
      await writeFile(archive, npmTarball(pluginFiles({ nosy: '1' })));
      const environment = { PATH: `${folder}:${process.env['PATH'] ?? ''}` };
      await expectRefused(await install({ environment }), 'npm install failed: ');
      expect(await readdir(folder)).to.not.include('trace');
    });
  }

  describe('needs npm 11.14.0 or newer if the plugin has dependencies [slow]', () => {
    /** The environment with an `npm` that reports the given version, and otherwise runs the machine's npm. */
    const environmentWithNpm = async (version: string): Promise<Readonly<Record<string, string>>> => {
      const program = join(folder, 'npm');
      const lines = [
        '#!/bin/sh',
        `if [ "$1" = --version ]; then echo '${version}'; exit; fi`,
        'PATH="${PATH#*:}"; export PATH',
        'exec npm "$@"',
      ];
      await writeFile(program, `${lines.join('\n')}\n`);
      await chmod(program, 0o755);
      return { PATH: `${folder}:${process.env['PATH'] ?? ''}` };
    };

    for (const version of ['10.9.3', '11.13.0', 'unknown']) {
      it(`refuses a plugin with dependencies when the version of npm is ${version}`, async () => {
        const environment = await environmentWithNpm(version);
        await writeFile(archive, npmTarball(pluginFiles({ helper: '1' })));
        const message = `the plugin has dependencies, which need npm 11.14.0 or newer, not ${version}: `;
        await expectRefused(await install({ environment }), message);
        expect((await install({ environment })).stderr).to.include('Run npm install -g npm@11');
        expect(registry.seen).to.deep.equal([]);
      });
    }

    it('installs a plugin without dependencies when npm is 10.9.3', async () => {
      await writeFile(archive, npmTarball(pluginFiles()));
      expect(await install({ environment: await environmentWithNpm('10.9.3') })).to.include({ code: 0, stderr: '' });
    });

    it('installs dependencies when npm is 11.14.0, which can refuse packages from outside the registry', async () => {
      await writeFile(archive, npmTarball(pluginFiles({ helper: '1' })));
      expect(await install({ environment: await environmentWithNpm('11.14.0') })).to.include({ code: 0, stderr: '' });
    });
  });

  describe('with dependencies [slow]', () => {
    const versionOf = async (name: string): Promise<unknown> => {
      const file = join(plugins.pluginsDir, 'demo', 'node_modules', name, 'package.json');
      return (JSON.parse(await readFile(file, 'utf8')) as { version: unknown }).version;
    };

    const lockOf = (version: string): string => {
      const entry = { version, resolved: `${foreign.url}helper/-/helper-${version}.tgz` };
      const root = { name: 'demo', version: '1.0.0', dependencies: { helper: '^1.0.0' } };
      return JSON.stringify({ lockfileVersion: 3, packages: { '': root, 'node_modules/helper': entry } });
    };

    beforeEach(() => registry.add({ manifest: { name: 'helper', version: '1.1.0' }, files: { 'index.js': '' } }));

    it('installs the versions of npm-shrinkwrap.json, but from the configured registry, not from the URLs in that file', async () => {
      const files = { ...pluginFiles({ helper: '^1.0.0' }), 'npm-shrinkwrap.json': lockOf('1.0.0') };
      await writeFile(archive, npmTarball(files));
      expect(await install()).to.include({ code: 0, stderr: '' });
      expect(await versionOf('helper')).to.equal('1.0.0');
      expect(foreign.seen).to.deep.equal([]);
    });

    it('ignores the package-lock.json of the plugin, because npm ignores this file in a package', async () => {
      const files = { ...pluginFiles({ helper: '^1.0.0' }), 'package-lock.json': lockOf('1.0.0') };
      await writeFile(archive, npmTarball(files));
      expect(await install()).to.include({ code: 0, stderr: '' });
      expect(await versionOf('helper')).to.equal('1.1.0');
    });

    it('does not change the packages that the archive contains', async () => {
      const brought = { name: 'brought', version: '0.0.1', dependencies: { helper: '1.0.0' } };
      const files = {
        ...pluginFiles({ brought: '1', other: '1' }, { bundleDependencies: ['brought'] }),
        'node_modules/brought/package.json': JSON.stringify(brought),
        'node_modules/brought/index.js': '',
        'node_modules/helper/package.json': '{"name": "helper", "version": "1.0.0"}',
        'node_modules/.package-lock.json': lockOf('9.9.9'),
      };
      const other = { name: 'other', version: '1.0.0', dependencies: { helper: '1.1.0' } };
      registry.add({ manifest: other, files: { 'index.js': '' } });
      await writeFile(archive, npmTarball(files));
      expect(await install()).to.include({ code: 0, stderr: '' });
      expect(await versionOf('brought')).to.equal('0.0.1');
      expect(await versionOf('helper')).to.equal('1.0.0');
      expect(await versionOf('other/node_modules/helper')).to.equal('1.1.0');
    });

    it('installs optional dependencies when the plugin has no other dependencies', async () => {
      await writeFile(archive, npmTarball(pluginFiles({}, { optionalDependencies: { helper: '^1.0.0' } })));
      expect(await install()).to.include({ code: 0, stderr: '' });
      expect(await versionOf('helper')).to.equal('1.1.0');
    });

    it("uses the registry and the credentials in the user's .npmrc", async () => {
      const { host } = new URL(registry.url);
      const lines = [
        `registry = "${registry.url}"`,
        `//${host}/:_authToken=\${SECRET}`,
        `prefix=${join(folder, 'prefix')} ; not ours`,
      ];
      await writeFile(join(folder, '.npmrc'), lines.join('\n'));
      await writeFile(archive, npmTarball(pluginFiles({ helper: '1' })));
      expect((await install({ environment: { npm_config_registry: '' } })).stderr).to.equal('');
      expect(registry.seen.map(({ headers }) => headers.authorization)).to.include(`Bearer ${secret}`);
    });

    it('installs a dependency whose version is a tag such as latest, or an alias such as npm:helper@1.0.0', async () => {
      await writeFile(archive, npmTarball(pluginFiles({ helper: 'latest', again: 'npm:helper@1.0.0' })));
      expect(await install()).to.include({ code: 0, stderr: '' });
      expect([await versionOf('helper'), await versionOf('again')]).to.deep.equal(['1.1.0', '1.0.0']);
    });
  });
});
