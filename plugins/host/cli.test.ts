import { createClient } from '@homeostat/controller-runtime';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { appendFileSync, chmodSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from './commands/run-command.fixture.ts';
import { hostVersion } from './text/host-version.ts';
import { makeFolder, makePlugin, removeFolders } from './package/plugin-folder.fixture.ts';
import { pluginKind } from './objects/plugin-kind.ts';

const script = fileURLToPath(new URL('../bin/homeostat.js', import.meta.url));

type Line = Readonly<Record<string, unknown>>;

/** Runs the command in a separate process, with HOMEOSTAT_AUTH=open unless the test sets a token. */
class Command {
  readonly #child: ChildProcess;
  readonly exited: Promise<number | null>;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    const auth = args.includes('--token') || 'HOMEOSTAT_TOKEN' in environment ? {} : { HOMEOSTAT_AUTH: 'open' };
    // The command gets no options, such as plugins, from the environment of this process; each test sets its own.
    const env = { PATH: process.env['PATH'], HOMEOSTAT_CONSOLE: 'false', ...auth, ...environment };
    // The command runs with the same Node options as this process.
    this.#child = spawn(process.execPath, [...process.execArgv, script, ...args], { env });
    this.#child.stdout?.on('data', (chunk) => (this.stdout += String(chunk)));
    this.#child.stderr?.on('data', (chunk) => (this.stderr += String(chunk)));
    this.exited = new Promise((resolve) => this.#child.on('close', resolve));
  }

  get lines(): readonly Line[] {
    return this.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  }

  async line(message: string): Promise<Line> {
    return eventually(() => this.lines.find(({ msg }) => msg === message), {
      timeoutMs: 10_000,
      describe: () => `the line "${message}" in\n${this.stdout}${this.stderr}`,
    });
  }

  /** Closes the reading end of the pipe to which the command writes stderr. */
  closeStderr(): void {
    this.#child.stderr?.destroy();
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}

describe('the command line of homeostat', () => {
  it('prints its version and its help', async () => {
    expect(await runCommand(['--version'])).to.deep.equal({ code: 0, stdout: `${hostVersion()}\n`, stderr: '' });
    const help = await runCommand(['serve', '--help']);
    expect(help.code).to.equal(0);
    for (const text of ['--database <url>', '--service-domain', 'HOMEOSTAT_LOG_LEVEL', 'SIGTERM'])
      expect(help.stdout).to.include(text);
  });

  for (const [args, text] of [
    [['serve', '--bogus'], "unknown option '--bogus'"],
    [['serve', '--port'], 'argument missing'],
    [['serve', '--tls', 'extra'], "unexpected argument 'extra': 'serve' takes no argument"],
    [['dev', '.', 'more', 'most'], "unexpected argument 'more': 'dev' takes at most 1 argument;"],
    [['user', 'add', 'ann', 'bob'], "unexpected argument 'bob': 'add' takes at most 1 argument;"],
    [['fly'], "unknown command 'fly'"],
    [[], 'Usage: homeostat'],
  ] as const) {
    it(`exits with 2 for: ${args.join(' ')}`, async () => {
      const { code, stdout, stderr } = await runCommand(args);
      expect([code, stdout]).to.deep.equal([2, '']);
      expect(stderr).to.include(text);
    });
  }
});

describe('homeostat in a process of its own [slow]', () => {
  const running: Command[] = [];

  function run(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Command {
    const command = new Command(args, environment);
    running.push(command);
    return command;
  }

  function serve(...args: readonly string[]): Command {
    return run(['serve', '--port', '0', '--database', 'memory:', ...args]);
  }

  async function listening(command: Command): Promise<{ readonly url: string; readonly port: number }> {
    const url = String((await command.line('ready'))['url']);
    return { url, port: Number(new URL(url).port) };
  }

  afterEach(async () => {
    for (const command of running.splice(0)) {
      command.kill('SIGKILL');
      await command.exited;
    }
    await removeFolders();
  });

  for (const [args, text] of [
    [['serve', '--port', 'abc'], '--port: must be a whole number from 0 to 65535, not "abc"'],
    [['serve', '--database', 'oracle:x'], '--database: there is no driver for the URL scheme "oracle"'],
    [
      ['serve', '--database', 'memory:', '--port', '0', '--plugins-dir', '/nowhere/plugins'],
      '--plugins-dir: /nowhere/plugins: there is no such folder: create it first, or name another one\n',
    ],
  ] as const) {
    it(`exits with 2 for: ${args.join(' ')}`, async () => {
      const command = run(args);
      expect(await command.exited).to.equal(2);
      expect(command.stderr).to.include(text);
      expect(command.stdout).to.equal('');
    });
  }

  it('exits with 1 when another process uses the port', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as AddressInfo;
    const command = run(['serve', '--port', String(port), '--database', 'memory:']);
    expect(await command.exited).to.equal(1);
    expect(command.stderr).to.include('could not start').and.include('EADDRINUSE');
    await new Promise((resolve) => taken.close(resolve));
  });

  it('reports when it is ready, with the phase of each plugin, and exits with 0 on SIGTERM', async () => {
    const folder = await makeFolder({});
    const command = run(['serve'], {
      HOMEOSTAT_PORT: '0',
      HOMEOSTAT_DATABASE: `sqlite:${join(folder, 'data', 'h.db')}`,
      HOMEOSTAT_PLUGIN: [await makePlugin('good', 'export default {};'), await makePlugin('bad', 'throw 1;')].join(','),
    });
    const ready = await command.line('ready');
    expect(ready['plugins']).to.deep.equal([
      { name: 'good', version: '1.0.0', phase: 'Started' },
      { name: 'bad', version: '1.0.0', phase: 'Failed', reason: '1' },
    ]);
    expect((await fetch(`${String(ready['url'])}/readyz`)).status).to.equal(200);
    command.kill('SIGTERM');
    expect(await command.exited).to.equal(0);
    expect(command.stderr).to.equal('');
  });

  it('limits the watches of a user, and the connections of an address without a credential, to the numbers in the flags', async () => {
    const token = 'correct-horse-battery-staple';
    const limits = ['--max-watches-per-user', '1', '--max-unknown-connections-per-address', '3'];
    const { url, port } = await listening(serve('--token', token, ...limits));
    const stop = new AbortController();
    const sockets: Socket[] = [];
    try {
      const watch = async (): Promise<Response> => {
        const headers = { authorization: `Bearer ${token}` };
        return fetch(`${url}/api/v1/namespaces?watch=true`, { headers, signal: stop.signal });
      };
      expect((await watch()).status).to.equal(200);
      const refused = await watch();
      expect([refused.status, await refused.text()].join(' '))
        .to.include('429')
        .and.include('watches of one user');
      const strangers = async (): Promise<string> => {
        const socket = connect(port, '127.0.0.1');
        sockets.push(socket);
        socket.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
        const [answer] = (await once(socket, 'data')) as [Buffer];
        return answer.toString();
      };
      for (let index = 0; index < 3; index += 1) expect(await strangers()).to.include('200 OK');
      expect(await strangers()).to.match(/^HTTP\/1\.1 429 /);
    } finally {
      stop.abort();
      for (const socket of sockets) socket.destroy();
    }
  });

  describe('with --strict', () => {
    it('exits with 1 when a plugin given by a flag cannot be read, or fails at its start', async () => {
      const good = await makePlugin('good', 'export default {};');
      const bad = await makePlugin('bad', "throw new Error('not today');");
      for (const [folder, reason] of [
        [bad, 'plugin "bad" failed, and --strict is set: not today'],
        [join(good, 'nowhere'), 'plugin "nowhere" failed, and --strict is set: '],
      ] as const) {
        const command = serve('--strict', '--plugin', good, '--plugin', folder);
        expect(await command.exited).to.equal(1);
        expect(command.stderr).to.include(reason);
        expect(command.lines.at(-1)).to.include({ msg: 'stopped' });
      }
    });

    it('exits with 1 when a plugin given by a flag fails later', async () => {
      const main = "export default { start() { setImmediate(() => { throw new Error('in a callback'); }); } };";
      const command = serve('--strict', '--plugin', await makePlugin('throws', main));
      expect(await command.exited).to.equal(1);
      expect(command.stderr).to.include('plugin "throws" failed, and --strict is set: in a callback');
    });

    it('stops normally, and exits with 1, when a plugin fails and the reader of stderr has closed the pipe', async () => {
      const main = "export default { start() { setImmediate(() => { throw new Error('in a callback'); }); } };";
      const command = serve('--strict', '--plugin', await makePlugin('throws', main));
      command.closeStderr();
      expect(await command.exited).to.equal(1);
      expect(command.lines.at(-1)).to.include({ msg: 'stopped' });
      expect(command.stdout).to.not.include('EPIPE');
    });

    it('continues without an installed plugin that fails', async () => {
      const plugins = await makeFolder({ 'bad/plugin.yaml': 'name: bad\nversion: 1.0.0\n' });
      const good = await makePlugin('good', 'export default {};');
      const command = serve('--strict', '--plugin', good, '--plugins-dir', plugins);
      await command.line('ready');
      command.kill('SIGTERM');
      expect(await command.exited).to.equal(0);
    });
  });

  it('serves a plugin under development even if the reader of stderr has closed the pipe', async () => {
    const folder = await makePlugin('good', 'export default {};');
    const command = run(['dev', folder, '--port', '0', '--database', 'memory:']);
    command.closeStderr();
    const { url } = await command.line('ready');
    expect((await fetch(`${String(url)}/readyz`)).status).to.equal(200);
    command.kill('SIGTERM');
    expect(await command.exited, command.stdout).to.equal(0);
  });

  it('names the cure when a command does not trust the certificate of the server, or sends no token', async () => {
    const folder = await makeFolder({});
    const token = 'sixteen-letters!';
    const server = serve('--tls-dir', folder, '--token', token);
    const url = String((await server.line('ready'))['url']);
    const trusted = { NODE_EXTRA_CA_CERTS: join(folder, 'ca.crt') };
    for (const args of [['plugin', 'list'], ['export']]) {
      const stranger = await runCommand([...args, '--server', url]);
      expect(stranger.code, args.join()).to.equal(1);
      expect(stranger.stderr).to.include(
        "name the file of the server's authority: NODE_EXTRA_CA_CERTS=<tls-dir>/ca.crt, such as data/tls/ca.crt",
      );
      const withoutToken = run([...args, '--server', url], trusted);
      expect(await withoutToken.exited).to.equal(1);
      expect(withoutToken.stderr).to.include("give the server's token: --token, or better HOMEOSTAT_TOKEN");
      const both = run([...args, '--server', url, '--token', token], trusted);
      expect(await both.exited, both.stderr).to.equal(0);
    }
  });

  it('reports mistakes of a plugin with the file and the line of its source', async () => {
    // This source map maps the first line of the module to the third line of its source.
    const map = { version: 3, sources: ['../index.ts'], sourcesContent: ['\n\nthrow'], names: [], mappings: 'AAEA' };
    const url = `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
    const importing = "import { AbstractExtension, defineModel, GVK } from 'homeostat'; ";
    const defining = (options: string): string =>
      `${importing}export default { models: [defineModel({ gvk: 'a.example.com/v1/A', ${options} })] };`;
    const decorating =
      `${importing}class B extends AbstractExtension {} const metadata = {}; B[Symbol.metadata] = metadata; ` +
      "GVK({ group: 'nodot', version: 'v1', kind: 'B', plural: 'bs' })(B, { kind: 'class', metadata }); " +
      'export default { models: [B] };';
    const deep = "{ properties: { spec: { properties: { a: { properties: { b: { type: 'text' } } } } } } }";
    const unfit = "{ type: 'object', properties: { spec: { type: 'string', pattern: '(' } } }";
    const mains: Readonly<Record<string, string>> = {
      throws: `${importing}throw new Error('not today');`,
      misspells: defining("plurl: 'as'"),
      mistypes: defining(`plural: 'as', schema: ${deep}`),
      unfit: defining(`plural: 'as', schema: ${unfit}`),
      decorated: decorating,
    };
    const folders = await Promise.all([
      ...Object.entries(mains).map(([name, main]) => makePlugin(name, `${main}\n//# sourceMappingURL=${url}\n`)),
      makePlugin('undeclared', '', { 'plugin.yaml': 'name: undeclared\n\nverson: 1.0.0\n' }),
    ]);
    for (const folder of folders) {
      await mkdir(join(folder, 'node_modules'));
      await symlink(fileURLToPath(new URL('..', import.meta.url)), join(folder, 'node_modules', 'homeostat'));
    }
    const command = serve(...folders.flatMap((folder) => ['--plugin', folder]));
    const { plugins } = await command.line('ready');
    const reasons = (plugins as readonly { readonly reason: string }[]).map(({ reason }) => reason);
    expect(reasons[0]).to.equal('not today (index.ts:3)');
    expect(reasons[1]).to.match(/unknown key "plurl"\. Did you mean "plural"\? \(index\.ts:3\)$/);
    expect(reasons[2]).to.match(/A\.spec\.a\.b: type must be one of .* \(index\.ts:3\)$/);
    expect(reasons[3]).to.match(/^model A: A\.spec: pattern "\(" .* \(index\.ts:3\)$/);
    expect(reasons[4]).to.match(/^model B: .* \(index\.ts:3\)$/);
    expect(reasons[5]).to.include('/plugin.yaml:3: unknown key "verson". Did you mean "version"?');
  });

  it('is alive but not ready while a plugin starts', async () => {
    const hangs = await makePlugin('hangs', 'export default { start: () => new Promise(() => {}) };');
    const command = serve('--plugin', hangs);
    const url = String((await command.line('listening'))['url']);
    await command.line('plugin is Starting');
    const ready = await fetch(`${url}/readyz?verbose`);
    expect(ready.status).to.equal(503);
    expect(await ready.text()).to.include('[-]plugins failed: hangs is Starting');
    expect((await fetch(`${url}/livez`)).status).to.equal(200);
    command.kill('SIGINT');
    expect(await command.exited).to.equal(0);
  });

  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    it(`exits with ${code} at once on a second ${signal}`, async () => {
      const command = serve(
        '--plugin',
        await makePlugin('hangs', 'export default { stop: () => new Promise(() => {}) };'),
      );
      await command.line('ready');
      command.kill(signal);
      await command.line('plugin is Stopping');
      command.kill(signal);
      expect(await command.exited).to.equal(code);
    });
  }

  it('logs an unhandled rejection with the name of the plugin, and continues', async () => {
    const main = "export default { start() { void Promise.reject(new Error('forgotten')); } };";
    const command = serve('--plugin', await makePlugin('rejects', main));
    const { url } = await command.line('ready');
    expect(await command.line('unhandled rejection')).to.include({ plugin: 'rejects', level: 'error' });
    expect((await fetch(`${String(url)}/livez`)).status).to.equal(200);
  });

  it('continues when a plugin throws in a callback: only this plugin and its dependents fail', async () => {
    const main = "export default { start() { setImmediate(() => { throw new Error('in a callback'); }); } };";
    const throws = await makePlugin('throws', main);
    const needs = await makePlugin('needs', 'export default {};', {
      'plugin.yaml': 'name: needs\nversion: 1.0.0\ndependencies: { throws: "*" }\n',
    });
    const command = serve(
      '--plugin',
      throws,
      '--plugin',
      needs,
      '--plugin',
      await makePlugin('good', 'export default {};'),
    );
    const url = String((await command.line('ready'))['url']);
    expect(await command.line('uncaught exception of a plugin: stopping the plugin')).to.include({
      plugin: 'throws',
    });
    const client = createClient(url);
    const states = async (): Promise<readonly unknown[]> =>
      (await client.list(pluginKind('homeostat.internal'), { sort: 'metadata.name,asc' })).items.map(
        ({ metadata, status }) => [metadata.name, status?.phase, status?.reason],
      );
    // `throws` is Stopping until its dependents have stopped, and then Failed with the reason Crashed.
    await eventually(async () => (await states()).flat().includes('Crashed'));
    await eventually(async () => (await states()).flat().includes('DependencyNotStarted'));
    expect(await states()).to.deep.equal([
      ['good', 'Started', undefined],
      ['needs', 'Failed', 'DependencyNotStarted'],
      ['throws', 'Failed', 'Crashed'],
    ]);
    command.kill('SIGTERM');
    expect(await command.exited).to.equal(0);
  });

  it('logs an exception of unknown origin, stops normally, and exits with 1', async () => {
    const main = "export default { start() { setImmediate(() => { throw 'without a stack'; }); } };";
    const command = serve('--plugin', await makePlugin('throws', main));
    expect(await command.exited).to.equal(1);
    await command.line('uncaught exception: stopping');
    await command.line('stopped');
  });

  it('refuses requests without the token in HOMEOSTAT_TOKEN, except health checks, and never prints this token', async () => {
    const token = 'correct-horse-battery-staple';
    const command = run(['serve', '--port', '0', '--database', 'memory:', '--hints', '--log-level', 'debug'], {
      HOMEOSTAT_TOKEN: token,
      HOMEOSTAT_PLUGIN: fileURLToPath(new URL('../../../examples/01-person', import.meta.url)),
    });
    const url = String((await command.line('ready'))['url']);
    expect((await fetch(`${url}/apis`)).status).to.equal(401);
    expect((await fetch(`${url}/readyz`)).status).to.equal(200);
    expect((await fetch(`${url}/apis`, { headers: { Authorization: `Bearer ${token}` } })).status).to.equal(200);
    await eventually(() => command.stderr.includes('curl -H "Authorization: Bearer $HOMEOSTAT_TOKEN" http://'));
    command.kill('SIGTERM');
    expect(await command.exited).to.equal(0);
    expect(command.stdout + command.stderr).to.not.include(token);
  });

  it('serves HTTPS with its own certificate authority, but does not start when other users can read the key of the authority', async () => {
    const folder = await makeFolder({});
    const directory = join(folder, 'tls');
    const args = ['--database', 'memory:', '--port', '0', '--tls-dir', directory, '--hints'];
    const command = run(['serve', ...args]);
    const url = String((await command.line('ready'))['url']);
    const client = createClient(url, { ca: readFileSync(join(directory, 'ca.crt'), 'utf8') });
    expect((await client.list(pluginKind('homeostat.internal'))).items).to.deep.equal([]);
    await eventually(() => command.stderr.includes(`${url}; no plugin`));
    command.kill('SIGTERM');
    expect(await command.exited).to.equal(0);
    chmodSync(join(directory, 'authority.pem'), 0o644);
    const refused = run(['serve', ...args]);
    expect(await refused.exited).to.equal(1);
    expect(refused.stderr)
      .to.include('authority.pem: users other than its owner have access')
      .and.include('chmod 600 it');
  });

  it('fails a plugin with a kind in the service domain that HOMEOSTAT_SERVICE_DOMAIN sets', async () => {
    const fixture = new URL('./widget.fixture.js', import.meta.url).href;
    const main = `import { widgetModel } from '${fixture}';\nexport default { models: [widgetModel()] };`;
    const plugin = await makePlugin('widgets', main);
    const command = run(['serve', '--port', '0', '--database', 'memory:', '--plugin', plugin], {
      HOMEOSTAT_SERVICE_DOMAIN: 'example.com',
    });
    const [widgets] = (await command.line('ready'))['plugins'] as Line[];
    expect(widgets).to.include({ phase: 'Failed' });
    expect(widgets?.['reason']).to.include('"widgets.example.com" is reserved: example.com and its subdomains');
  });

  it('refuses a plugin whose manifest declares a group in the service domain, before any code of the plugin runs', async () => {
    const plugin = await makePlugin('greedy', "throw new Error('the module was loaded');");
    appendFileSync(join(plugin, 'plugin.yaml'), 'group: x.homeostat.internal\n');
    const command = run(['serve', '--port', '0', '--database', 'memory:', '--plugin', plugin]);
    const [greedy] = (await command.line('ready'))['plugins'] as Line[];
    expect(greedy).to.include({ phase: 'Failed' });
    expect(greedy?.['reason']).to.include('group: x.homeostat.internal is reserved').and.not.include('was loaded');
  });

  it('prints commands to try on stderr when --hints is set', async () => {
    const fixture = new URL('./widget.fixture.js', import.meta.url).href;
    const main = `import { widgetModel } from '${fixture}';\nexport default { models: [widgetModel()] };`;
    const command = serve('--hints', '--plugin', await makePlugin('widgets', main));
    const { url } = await command.line('ready');
    await eventually(() => command.stderr.includes('watch=true'));
    expect(command.stderr).to.include(`curl '${String(url)}/apis/widgets.example.com/v1/widgets?page=1&size=10'`);
  });

  it('serves the console, and with --hints prints its URL; with --no-console, does neither', async () => {
    const args = ['serve', '--port', '0', '--database', 'memory:', '--hints'];
    const on = run(args, { HOMEOSTAT_CONSOLE: 'true' });
    const { url, plugins } = await on.line('ready');
    expect(plugins).to.have.nested.property('[0].name', 'console');
    await eventually(() => on.stderr.includes(`The console: ${String(url)}/console/`));
    const off = run([...args, '--no-console'], { HOMEOSTAT_CONSOLE: 'true' });
    expect((await off.line('ready'))['plugins']).to.deep.equal([]);
    expect(off.stderr).to.not.include('/console/');
  });
});

describe('an import of homeostat', () => {
  for (const entry of ['index', 'cli']) {
    it(`does not load the server, for the module ${entry}.js`, async () => {
      const url = new URL(`./${entry}.js`, import.meta.url).href;
      const program = `
        import { createRequire } from 'node:module';
        await import(${JSON.stringify(url)});
        const loaded = Object.keys(createRequire(${JSON.stringify(url)}).cache);
        process.stdout.write(loaded.filter((file) => /[/](koa|ajv|pino|better-sqlite3)[/]/.test(file)).join());
      `;
      const child = spawn(process.execPath, ['--input-type=module', '--eval', program]);
      let output = '';
      child.stdout.on('data', (chunk) => (output += String(chunk)));
      child.stderr.on('data', (chunk) => (output += String(chunk)));
      const code = await new Promise((resolve) => child.on('close', resolve));
      expect({ code, output }).to.deep.equal({ code: 0, output: '' });
    });
  }
});
