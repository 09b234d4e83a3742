import { expect } from 'chai';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText } from '../text/error-text.ts';
import { installPlugin } from './install-plugin.ts';
import { makeFolder, removeFolders } from '../package/plugin-folder.fixture.ts';
import { TestRegistry } from './registry.fixture.ts';
import { npmTarball, pluginFiles, tarball, tarEntry } from './tarball.fixture.ts';

describe('installPlugin, before it runs npm,', () => {
  let registry: TestRegistry;
  let folder: string;

  before(async () => {
    registry = new TestRegistry();
    registry.add({ manifest: { name: 'helper', version: '1.0.0' }, files: { 'index.js': '' } });
    await registry.start();
  });

  after(() => registry.stop());

  beforeEach(async () => {
    folder = await makeFolder({});
  });

  afterEach(removeFolders);

  const refusal = async (content: Uint8Array): Promise<string> => {
    const archive = join(folder, 'demo.tgz');
    const pluginsDir = join(folder, 'plugins');
    await mkdir(pluginsDir);
    await writeFile(archive, content);
    const environment = { PATH: process.env['PATH'], npm_config_registry: registry.url };
    const message = await installPlugin(archive, pluginsDir, { runScripts: false, environment }).then(
      () => 'it is installed',
      errorText,
    );
    expect((await readdir(pluginsDir)).filter((name) => name !== 'node_modules')).to.deep.equal([]);
    expect(registry.seen).to.deep.equal([]);
    return message;
  };

  for (const path of ['.NPMRC', 'lib/.npmrc', 'node_modules/other/.npmrc', './/.npmrc']) {
    it(`refuses an archive with a configuration of npm at ${path}`, async () => {
      const message = `package/${path}: is a configuration of npm: leave it out of the archive`;
      expect(await refusal(npmTarball({ ...pluginFiles(), [path]: 'force=true\n' }))).to.include(message);
    });
  }

  for (const path of ['node_modules/.bin/node-gyp', 'node_modules/a/node_modules/.bin/tsc', 'Node_Modules/.BIN/x']) {
    it(`refuses an archive with a program at ${path}`, async () => {
      const message = `package/${path}: is a folder of programs that npm creates: leave it out of the archive`;
      expect(await refusal(npmTarball({ ...pluginFiles(), [path]: '#!/bin/sh\n' }))).to.include(message);
    });
  }

  for (const path of ['package.json', 'npm-shrinkwrap.json']) {
    it(`refuses an archive whose ${path} is larger than 4 MiB`, async () => {
      const files = { ...pluginFiles({ helper: '1.0.0' }), [path]: `{"a":"${'x'.repeat(4096 * 1024)}"}` };
      expect(await refusal(npmTarball(files))).to.include(`${path}: is larger than 4096 KiB`);
    });
  }

  it('refuses an archive whose plugin.yaml is larger than 256 KiB', async () => {
    const files = { ...pluginFiles(), 'plugin.yaml': `name: ${'x'.repeat(256 * 1024)}` };
    expect(await refusal(npmTarball(files))).to.match(/plugin\.yaml: is larger than 256 KiB/);
  });

  const again = ['package/dist/index.js', 'other/dist/index.js', 'package/dist/./index.js', 'package/dist/INDEX.js'];
  for (const second of again) {
    it(`refuses an archive with two entries for the same path: dist/index.js and ${second}`, async () => {
      const entries = Object.entries(pluginFiles()).map(([path, content]) => tarEntry(`package/${path}`, { content }));
      const content = tarball(...entries, tarEntry(second, { content: 'export default 1;' }));
      expect(await refusal(content)).to.include(`${second}: exists twice`);
    });
  }

  const notOfTheRegistry: Readonly<Record<string, string>> = {
    repository: 'git+ssh://git@127.0.0.1/x.git',
    'repository on GitHub': 'github:someone/x',
    folder: 'file:../../elsewhere',
    URL: 'http://127.0.0.1:9/x.tgz',
    link: 'link:../elsewhere',
    tarball: 'helper.tgz',
  };
  for (const [what, range] of Object.entries(notOfTheRegistry)) {
    it(`refuses a dependency whose source is a ${what}, not the registry`, async () => {
      const message = `package.json: dependencies: helper: "${range}" is not a range of versions, a tag or an alias`;
      expect(await refusal(npmTarball(pluginFiles({ helper: range })))).to.include(message);
    });
  }

  it('refuses a dependency whose name is a path that leads out of node_modules', async () => {
    const content = npmTarball(pluginFiles({}, { dependencies: { '../../plugin.yaml': '1' } }));
    const message = 'package.json: dependencies: "../../plugin.yaml" is not the name of a package';
    expect(await refusal(content)).to.include(message);
  });

  const locked: Readonly<Record<string, readonly [entry: object, message: string]>> = {
    '../outside': [{ version: '1.0.0' }, '"../outside": is not a package below node_modules'],
    'node_modules/../../outside': [{}, '"node_modules/../../outside": is not a package below node_modules'],
    'node_modules/helper/node_modules/.bin': [{}, '"node_modules/helper/node_modules/.bin": is not a package below'],
    'node_modules/helper': [{ resolved: '../../outside', link: true }, '"node_modules/helper": is a link'],
  };
  const url = 'http://127.0.0.1:9/x.tgz';
  const entries: readonly (readonly [entry: object, message: string])[] = [
    [{ version: url }, `version: "${url}" is not a version`],
    [{ version: 'file:../../outside' }, 'version: "file:../../outside" is not a version'],
    [{ resolved: url }, 'version: undefined is not a version'],
    [{ name: url, version: '1.0.0' }, `name: "${url}" is not the name of a package`],
    [{ name: 1, version: '1.0.0' }, 'name: 1 is not the name of a package'],
    ...['dependencies', 'optionalDependencies', 'peerDependencies'].flatMap((key) => [
      [{ version: '1.0.0', [key]: { x: url } }, `${key}: x: "${url}" is not a range of versions`] as const,
      [{ version: '1.0.0', [key]: { x: 'x.tgz' } }, `${key}: x: "x.tgz" is not a range of versions`] as const,
      [{ version: '1.0.0', [key]: { x: `npm:y@${url}` } }, `${key}: x: "npm:y@${url}" is not a range`] as const,
      [{ version: '1.0.0', [key]: { '../x': '1' } }, `${key}: "../x" is not the name of a package`] as const,
      [{ version: '1.0.0', [key]: ['x'] }, `${key}: must map names of packages to ranges`] as const,
    ]),
  ];
  const lockCases = [...Object.entries(locked), ...entries.map((entry) => ['node_modules/helper', entry] as const)];
  for (const [path, [entry, message]] of lockCases) {
    it(`refuses a lock file with the entry ${path} ${JSON.stringify(entry)}`, async () => {
      const lock = JSON.stringify({ lockfileVersion: 3, packages: { [path]: entry } });
      const content = npmTarball({ ...pluginFiles({ helper: '1' }), 'npm-shrinkwrap.json': lock });
      expect(await refusal(content)).to.include(message);
    });
  }
});
