import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, cp, mkdir, readdir, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder, removeFolders } from '../package/plugin-folder.fixture.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const needless = /\.(?:test|contract|fixture|test-support)\.|\.(?:map|d\.ts|tsbuildinfo)$/;

/** The packages of this repository, each with its name and its folder. */
const packages: Readonly<Record<string, string>> = {
  homeostat: 'plugins/host',
  'create-homeostat': 'plugins/create-homeostat',
  '@homeostat/apiserver': 'apiserver',
  '@homeostat/console': 'plugins/console',
  '@homeostat/controller-runtime': 'controller-runtime',
};

/** The time limit for a server to start: on a busy machine, the start is slow. */
const timeoutMs = 20_000;

/** Makes a plugin like one that `npm create homeostat` and `npm install` make: homeostat is in its node_modules. */
async function makeScaffold(main: string): Promise<string> {
  const plugin = await makeFolder({
    'plugin.yaml': 'name: demo\nversion: 1.0.0\n',
    'package.json': JSON.stringify({ type: 'module', dependencies: { homeostat: '*' } }),
    'dist/index.js': main,
  });
  const modules = join(plugin, 'node_modules');
  await mkdir(join(modules, '@homeostat'), { recursive: true });
  for (const name of await readdir(join(root, 'node_modules')))
    if (!/^(?:\..*|@homeostat|(?:create-)?homeostat)$/.test(name))
      await symlink(join(root, 'node_modules', name), join(modules, name));
  for (const [name, from] of Object.entries(packages)) {
    const filter = (path: string): boolean => !needless.test(path) && basename(path) !== 'node_modules';
    for (const part of ['package.json', 'plugin.yaml', 'dist', 'bin'])
      await cp(join(root, from, part), join(modules, name, part), { recursive: true, filter, force: true }).catch(
        ignoreMissing,
      );
  }
  return plugin;
}

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

describe("a host in the plugin's node_modules [slow]", function () {
  this.timeout(timeoutMs * 3);
  const running: ChildProcess[] = [];
  let output: string;

  afterEach(async () => {
    for (const child of running.splice(0).filter((each) => each.exitCode === null && each.signalCode === null)) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await removeFolders();
  });

  function serve(plugin: string): ChildProcess {
    output = '';
    const script = join('node_modules', 'homeostat', 'bin', 'homeostat.js');
    const args = [
      ...process.execArgv,
      script,
      'serve',
      '--auth',
      'open',
      '--port',
      '0',
      '--database',
      'memory:',
      '--plugin',
      '.',
    ];
    const child = spawn(process.execPath, args, { cwd: plugin, stdio: ['ignore', 'pipe', 'pipe'] });
    running.push(child);
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
    return child;
  }

  const said = async (text: string): Promise<void> => {
    const describe = (): string => `${text} in\n${output}`;
    await eventually(() => output.includes(text), { timeoutMs, describe });
  };

  it('stops when its own code throws an uncaught exception, and does not blame the plugin', async () => {
    const plugin = await makeScaffold('export default {};');
    const throwing = "\nprocess.on('SIGUSR2', () => { throw new Error('of the host'); });\n";
    await appendFile(join(plugin, 'node_modules', 'homeostat', 'dist', 'bundle', 'cli.js'), throwing);
    const child = serve(plugin);
    await said('"msg":"ready"');
    const exited = once(child, 'exit');
    child.kill('SIGUSR2');
    expect(await exited).to.deep.equal([1, null]);
    expect(output).to.include('"msg":"uncaught exception: stopping"').and.not.include('of a plugin');
    expect(output).to.not.match(/"plugin":"demo".*nobody caught/);
  });

  it('fails only the plugin when the plugin throws an uncaught exception', async () => {
    const main = "export default { start() { setImmediate(() => { throw new Error('of the plugin'); }); } };";
    const child = serve(await makeScaffold(main));
    await said('uncaught exception of a plugin: stopping the plugin');
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exited).to.deep.equal([0, null]);
  });

  it('reports a mistake in a plugin by a message without paths in node_modules, where the host is', async () => {
    const plugin = await makeScaffold("import { defineModel } from 'homeostat';\nexport default { models: [5] };");
    const child = serve(plugin);
    await said('"msg":"ready"');
    const [ready = ''] = output.split('\n').filter((line) => line.includes('"msg":"ready"'));
    expect(ready).to.include('"phase":"Failed"').and.not.include('node_modules');
    child.kill('SIGTERM');
  });
});
