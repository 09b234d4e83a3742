import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { promisify } from 'node:util';
import { check } from 'prettier';
import { runCreate } from './cli.ts';
import type { CreateEnvironment } from './cli.ts';
import { createPlugin } from './create-plugin.ts';
import { addPart } from './add-part.ts';
import { tools } from './templates/plugin-files.ts';

/** The settings of prettier in the package.json of a new plugin. */
const style = { printWidth: 120, singleQuote: true };

/** Returns an environment with a user who types these answers; without `answers`, an environment without a terminal. */
function environmentOf(answers?: readonly string[]): CreateEnvironment & { readonly said: () => string } {
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const chunks: string[] = [];
  const waiting = [...(answers ?? [])];
  stdout.on('data', (chunk) => {
    chunks.push(String(chunk));
    const answer = String(chunk).endsWith('): ') ? waiting.shift() : undefined;
    if (answer !== undefined) stdin.write(`${answer}\n`);
  });
  stderr.on('data', (chunk) => chunks.push(String(chunk)));
  const isTTY = answers !== undefined;
  const streams = { stdin: Object.assign(stdin, { isTTY }), stdout: Object.assign(stdout, { isTTY }), stderr };
  return { ...(streams as unknown as CreateEnvironment), said: () => chunks.join('') };
}

async function filesOf(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

describe('create-homeostat', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-create-'));
  });

  afterEach(async () => rm(folder, { recursive: true }));

  it('says what is wrong with an answer, and asks again', async () => {
    const answers = ['Shop', 'shop', 'nodot', 'shop.example.com', 'lower', 'Order'];
    const environment = environmentOf(answers);
    expect(await runCreate([join(folder, 'shop')], environment)).to.equal(0);
    const said = environment.said();
    expect(said)
      .to.include('"Shop" a name must consist of lower case')
      .and.include('"nodot" must be a domain with at least');
    expect(said).to.include('Made the plugin shop with the kind Order.');
  });

  it('asks nothing without a terminal, and derives the name and the group from the name of the folder', async () => {
    const environment = environmentOf();
    const plugin = join(folder, 'shop');
    expect(await runCreate([plugin], environment)).to.equal(0);
    expect(environment.said()).to.match(/^Made the plugin shop with the kind Greeting\. Next:\n {2}cd /);
    expect(await readFile(join(plugin, 'plugin.yaml'), 'utf8'))
      .to.include('name: shop\n')
      .and.include('group: shop.example.com\n');
    expect(await readFile(join(plugin, 'kinds', 'greeting.ts'), 'utf8')).to.include(
      "'shop.example.com/v1alpha1/Greeting'",
    );
  });

  it('asks on a terminal for values that no option sets', async () => {
    const environment = environmentOf(['market', '', 'Stall']);
    const plugin = join(folder, 'shop');
    expect(await runCreate([plugin], environment)).to.equal(0);
    expect(environment.said())
      .to.include('Name (shop): ')
      .and.include('Group (market.example.com): ')
      .and.include('Kind (Greeting): ');
    expect(await readFile(join(plugin, 'kinds', 'stall.ts'), 'utf8')).to.include("'market.example.com/v1alpha1/Stall'");
  });

  it('writes nothing, and exits with 130, when the user presses Ctrl+C at a question', async () => {
    const environment = environmentOf(['\u0003']);
    expect(await runCreate([join(folder, 'shop')], environment)).to.equal(130);
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('asks nothing on a terminal with --yes', async () => {
    const environment = environmentOf([]);
    expect(await runCreate([join(folder, 'shop'), '--yes'], environment)).to.equal(0);
    expect(environment.said()).to.not.include('Name');
  });

  for (const [flags, message] of [
    [['--name', 'Shop'], '--name: "Shop" '],
    [['--name', 'service'], '--name: "service" is reserved'],
    [['--name', 'mocha'], '--name: "mocha" is the name of a package that a plugin needs'],
    [['--group', 'shop'], '--group: "shop" must be a domain with at least one dot'],
    [['--group', 'a..b'], '--group: "a..b" '],
    [['--group', 'x.homeostat.internal'], 'homeostat.internal and its subdomains belong to the server'],
    [['--kind', 'order'], 'kind: "order" must be PascalCase'],
    [['--kind', 'Watch', '--name'], 'argument missing'],
    [['--bogus'], "unknown option '--bogus'"],
  ] as const) {
    it(`exits with 2, says why, and writes nothing, for ${flags.join(' ')}`, async () => {
      const environment = environmentOf();
      expect(await runCreate([join(folder, 'shop'), ...flags], environment)).to.equal(2);
      expect(environment.said()).to.include(message);
      expect(await readdir(folder)).to.deep.equal([]);
    });
  }

  it('refuses the path of a file, and a folder that has other entries than .git', async () => {
    const environment = environmentOf();
    await mkdir(join(folder, '.git'));
    await writeFile(join(folder, 'mine.txt'), 'mine');
    const options = { name: 'shop', group: 'shop.example.com', kind: 'Order' };
    const refused = async (path: string): Promise<string> =>
      createPlugin({ ...options, folder: path }).then(
        () => 'made',
        (error: unknown) => String(error),
      );
    expect(await refused(folder)).to.include('is not empty');
    expect(await refused(join(folder, 'mine.txt'))).to.include('is not a folder');
    expect(await readdir(folder)).to.have.members(['.git', 'mine.txt']);
    await rm(join(folder, 'mine.txt'));
    expect(await runCreate([folder, '--name', 'shop'], environment)).to.equal(0);
  });

  for (const [kind, plural, tier] of [
    ['X', 'xes', ' [slow]'],
    ['HTTPProxy', 'httpproxies', ''],
    ['ClusterwideCertificateAuthority', 'clusterwidecertificateauthorities', ' [slow]'],
  ] as const) {
    it(`writes files that prettier accepts with the settings of the new plugin, for the kind ${kind}${tier}`, async () => {
      await createPlugin({ folder, name: 'shop', group: 'shop.example.com', kind });
      await addPart({ folder, group: 'shop.example.com', type: 'endpoint', name: 'total' });
      const files = await filesOf(folder);
      expect(files).to.include(join(folder, 'resources', 'extensions', `${plural}.yaml`));
      for (const file of files.filter((path) => extname(path) !== '' && !path.endsWith('.gitignore'))) {
        const formatted = await check(await readFile(file, 'utf8'), { ...style, filepath: file });
        expect(formatted, file).to.equal(true);
      }
    });
  }

  it('creates a plugin whose npm package has the files that a host runs, but no sources and no tests [slow]', async () => {
    await createPlugin({ folder, name: 'shop', group: 'shop.example.com', kind: 'Order' });
    await mkdir(join(folder, 'dist'));
    for (const file of ['index.js', 'index.test.js']) await writeFile(join(folder, 'dist', file), '');
    const packed = await promisify(execFile)('npm', ['pack', '--dry-run', '--json'], { cwd: folder });
    const [{ files }] = JSON.parse(packed.stdout) as [{ readonly files: readonly { readonly path: string }[] }];
    expect(files.map(({ path }) => path)).to.have.members([
      'README.md',
      'dist/index.js',
      'package.json',
      'plugin.yaml',
      'resources/extensions/orders.yaml',
    ]);
  });

  it('gives a new plugin the versions of the tools that this repository uses', async () => {
    const root = new URL('../../../package.json', import.meta.url);
    const { devDependencies } = JSON.parse(await readFile(root, 'utf8')) as { devDependencies: Record<string, string> };
    for (const [tool, version] of Object.entries(tools)) expect(version, tool).to.equal(devDependencies[tool]);
  });
});
