import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const script = fileURLToPath(new URL('../bin/homeostat.js', import.meta.url));

const hooks = `import { appendFileSync } from 'node:fs';
  export async function load(url, context, next) {
    appendFileSync(process.env.LOADED, url + '\\n');
    return next(url, context);
  }`;

const packages = [
  'homeostat',
  '@homeostat/apiserver',
  '@homeostat/apiserver/endpoints',
  '@homeostat/controller-runtime',
];

/** A command must load only the files that it needs, because each file takes about a millisecond. */
describe('The program homeostat [spec experience-loads]', () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-loaded-'));
    await writeFile(join(folder, 'hooks.mjs'), hooks);
    const url = JSON.stringify(pathToFileURL(join(folder, 'hooks.mjs')).href);
    await writeFile(join(folder, 'register.mjs'), `import { register } from 'node:module'; register(${url});`);
  });

  after(() => rm(folder, { recursive: true }));

  /** Returns the files that a command loads, also when the command fails. */
  async function filesOf(args: readonly string[]): Promise<readonly string[]> {
    const loaded = join(folder, 'loaded');
    await writeFile(loaded, '');
    const options = { env: { PATH: process.env['PATH'], LOADED: loaded }, cwd: folder };
    await new Promise((resolve) => {
      execFile(process.execPath, ['--import', join(folder, 'register.mjs'), script, ...args], options, resolve);
    });
    const urls = new Set((await readFile(loaded, 'utf8')).split('\n'));
    return [...urls].filter((url) => url.startsWith('file:'));
  }

  const server = ['--server', 'http://127.0.0.1:1'];
  for (const [args, most] of [
    [['--help'], 10],
    [['get', 'persons', ...server], 50],
    [['user', 'list', ...server], 45],
    [['kubeconfig'], 45],
    [['backup', '--to', 'copy.db', ...server], 45],
  ] as const)
    it(`loads at most ${most} files, and no code of the server, for the command ${args[0]} [slow]`, async () => {
      const files = await filesOf(args);
      expect(files.length, files.join('\n')).to.be.within(5, most);
      expect(files.filter((file) => /[/](koa|ajv|pino|jose|openid-client)[/]|api-server\.js/.test(file))).to.deep.equal(
        [],
      );
    });

  it('loads its own packages only as bundles, even when a plugin imports these packages by their names [slow]', async () => {
    const plugin = join(folder, 'plugin');
    await mkdir(plugin);
    await writeFile(join(plugin, 'plugin.yaml'), 'name: demo\nversion: 1.0.0\nmain: index.js\n');
    await writeFile(join(plugin, 'package.json'), '{ "type": "module" }');
    const imports = packages.map((name) => `import ${JSON.stringify(import.meta.resolve(name))};`);
    await writeFile(join(plugin, 'index.js'), `${imports.join('\n')}\nexport default { models: [5] };`);
    const files = await filesOf(['check', plugin]);
    const own = files.filter((file) => /[/](?:apiserver|controller-runtime|host)[/]dist[/]/.test(file));
    expect(own.length).to.be.above(20);
    expect(own.filter((file) => !file.includes('/dist/bundle/'))).to.deep.equal([]);
  });
});
