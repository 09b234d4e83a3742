import { defineModel } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startTestServer } from '../testing/index.ts';
import type { TestServer, TestServerOptions } from '../testing/index.ts';
import { runCommand } from './run-command.fixture.ts';
import type { Finished } from './run-command.fixture.ts';
import { widgetModel } from '../widget.fixture.ts';

const script = fileURLToPath(new URL('../../bin/homeostat.js', import.meta.url));
const Widget = widgetModel();

/** A kind of the server. Soon after its start, the server creates a service account in each namespace. */
const ServiceAccount = defineModel({
  gvk: 'v1/ServiceAccount',
  plural: 'serviceaccounts',
  scope: 'Namespaced',
  schema: { type: 'object', properties: {} },
});

interface Ended {
  /** The exit code; null when a signal ended the command. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

function start(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Running {
  const child = spawn(process.execPath, [...process.execArgv, script, ...args], {
    env: { PATH: process.env['PATH'], ...environment },
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (piece) => (stdout += String(piece)));
  child.stderr.on('data', (piece) => (stderr += String(piece)));
  const ended = new Promise<Ended>((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })));
  return { child, ended };
}

const run = (...args: readonly string[]): Promise<Finished> => runCommand(args);

describe('homeostat export and import', () => {
  let folder: string;
  let server: TestServer | undefined;
  const path = (name: string): string => join(folder, name);

  async function serve(options: TestServerOptions = {}): Promise<TestServer> {
    const started = await startTestServer({ models: [Widget], ...options });
    server = started;
    await eventually(() => started.client.get(ServiceAccount, 'default', { namespace: 'default' }));
    return started;
  }

  /**
   * Creates a database with this number of Widgets of at least a kilobyte, in addition to the objects that each server
   * creates. No process has the database open afterwards.
   */
  async function makeDatabase(name: string, objects: number): Promise<string> {
    const database = `sqlite:${path(name)}`;
    const { client } = await serve({ database });
    const create = (at: number): Promise<unknown> =>
      client.create(Widget, { metadata: { name: `w${at}`, annotations: { text: `Ω 🦊 ${at} ${'x'.repeat(1000)}` } } });
    await Promise.all(Array.from({ length: objects }, (_, at) => create(at)));
    await server?.stop();
    server = undefined;
    return database;
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-copy-'));
  });

  afterEach(async () => {
    await server?.stop();
    server = undefined;
    await rm(folder, { recursive: true, force: true });
  });

  it('copy all objects from a running server to a new database, and print the same sha256', async () => {
    const token = 'correct-horse-battery-staple';
    const { url, client } = await serve({ token });
    await client.create(Widget, { metadata: { name: 'w' } });
    const file = path('export.ndjson');
    const exported = await runCommand(['export', '--server', `${url}/`, '--output', file], { HOMEOSTAT_TOKEN: token });
    expect(exported).to.include({ code: 0, stdout: '' });
    const [, sha256 = ''] =
      /^exported 25 objects as of revision \d+, sha256 ([0-9a-f]{64})\n$/.exec(exported.stderr) ?? [];
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    const imported = await run('import', '--database', `sqlite:${path('new.db')}`, file);
    expect(imported).to.deep.equal({
      code: 0,
      stdout: `imported 25 objects, sha256 ${sha256}, equal to the export\n`,
      stderr: '',
    });
    await server?.stop();
    const moved = await serve({ database: `sqlite:${path('new.db')}` });
    expect((await moved.client.get(Widget, 'w')).metadata.name).to.equal('w');
    expect(await readdir(folder)).to.have.members(['encryption.key', 'export.ndjson', 'new.db', 'new.db-wal']);
  });

  it('work with pipes: export writes to stdout by default, and import - reads stdin [slow]', async () => {
    const database = await makeDatabase('a.db', 5);
    const exported = await start(['export'], { HOMEOSTAT_DATABASE: database }).ended;
    expect(exported.code).to.equal(0);
    const importing = start(['import', '-'], { HOMEOSTAT_DATABASE: `sqlite:${path('b.db')}`, TMPDIR: folder });
    importing.child.stdin?.end(exported.stdout);
    expect((await importing.ended).stdout).to.match(
      /^imported 29 objects, sha256 [0-9a-f]{64}, equal to the export\n$/,
    );
    expect(await readdir(folder)).to.have.members(['a.db', 'b.db', 'encryption.key']);
  });

  it('export overwrites a file only with --force [slow]', async () => {
    const database = await makeDatabase('a.db', 1);
    const file = path('mine');
    await writeFile(file, 'mine');
    const refused = await run('export', '--database', database, '--output', file);
    expect(refused).to.include({
      code: 1,
      stderr: `homeostat export failed: ${file} exists already; --force overwrites it\n`,
    });
    expect(await readFile(file, 'utf8')).to.equal('mine');
    expect((await run('export', '--database', database, '--output', file, '--force')).code).to.equal(0);
    expect(await readFile(file, 'utf8')).to.match(/^{"homeostat":"export","format":1,/);
    expect(await readdir(folder)).to.have.members(['a.db', 'encryption.key', 'mine']);
  });

  it('refuse a database that a server has open; import refuses a database with objects, too [slow]', async () => {
    const source = await makeDatabase('source.db', 1);
    const file = path('export.ndjson');
    expect((await run('export', '--database', source, '--output', file)).code).to.equal(0);
    const database = `sqlite:${path('used.db')}`;
    const { client } = await serve({ database });
    await client.create(Widget, { metadata: { name: 'mine' } });
    for (const args of [['export'], ['import', file]]) {
      const locked = await run(...args, '--database', database);
      expect(locked).to.include({ code: 1, stdout: '' });
      expect(locked.stderr).to.include(`homeostat ${args[0]} failed: ${path('used.db')} is in use by another process`);
    }
    await server?.stop();
    server = undefined;
    const refused = await run('import', '--database', database, file);
    expect(refused).to.include({ code: 1, stderr: 'homeostat import failed: the database has objects already\n' });
  });

  it('leave no file and no database behind when the exported data are cut off [slow]', async () => {
    const database = await makeDatabase('a.db', 3);
    const { stdout } = await run('export', '--database', database);
    const cut = path('cut');
    await writeFile(cut, stdout.slice(0, -10));
    const refused = await run('import', '--database', `sqlite:${path('b.db')}`, cut);
    expect(refused).to.include({
      code: 1,
      stderr: 'homeostat import failed: line 29: the file is cut off: this line has no end\n',
    });
    expect(existsSync(path('b.db'))).to.equal(false);
    const proxy = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      response.write(stdout.slice(0, -10), () => response.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const broken = await run('export', '--server', url, '--output', path('broken'));
    expect(broken.code).to.equal(1);
    expect(broken.stderr).to.include(`homeostat export failed: ${url}/export: the response was cut off`);
    expect(await readdir(folder)).to.have.members(['a.db', 'cut', 'encryption.key']);
    await new Promise((resolve) => proxy.close(resolve));
  });

  it('export reports the reason when the server refuses the request', async () => {
    const token = 'correct-horse-battery-staple';
    const { url } = await serve({ token });
    for (const args of [[], ['--token', 'a-wrong-token-for-this']]) {
      const refused = await run('export', '--server', url, ...args);
      expect(refused).to.deep.equal({
        code: 1,
        stdout: '',
        stderr: `homeostat export failed: ${url}/export returned 401: Unauthorized: give the server's token: --token, or better HOMEOSTAT_TOKEN, or name its kubeconfig in HOMEOSTAT_KUBECONFIG\n`,
      });
    }
    const proxy = createServer((_, response) => response.writeHead(204).end());
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const empty = await run('export', '--server', proxyUrl);
    expect(empty.stderr).to.equal(`homeostat export failed: ${proxyUrl}/export returned 204: No Content\n`);
    await new Promise((resolve) => proxy.close(resolve));
  });

  it('an import that kill -9 ended can be repeated; until it is, serve and export refuse the incomplete database [slow]', async () => {
    const source = await makeDatabase('source.db', 2999);
    const { stdout: text, stderr } = await run('export', '--database', source);
    const [, sha256 = ''] = /sha256 ([0-9a-f]{64})/.exec(stderr) ?? [];
    const database = `sqlite:${path('part.db')}`;
    const pipe = path('pipe');
    await promisify(execFile)('mkfifo', [pipe]);
    const importing = start(['import', '--database', database, pipe]);
    // The import reads the pipe twice: first to check the text, then to import it. The second time, the pipe delivers
    // two of three batches, and never the rest.
    await writeFile(pipe, text);
    await eventually(() => existsSync(path('part.db')), { timeoutMs: 10_000 });
    const second = await open(pipe, 'w');
    await second.writeFile(text.slice(0, text.length - 100_000));
    const wal = `${path('part.db')}-wal`;
    await eventually(async () => (await stat(wal)).size > 2_000_000, { timeoutMs: 10_000 });
    importing.child.kill('SIGKILL');
    expect((await importing.ended).code).to.equal(null);
    await second.close();
    for (const args of [['serve', '--port', '0', '--log-level', 'silent'], ['export']]) {
      const refused = await start([...args, '--database', database]).ended;
      expect(refused).to.include({ code: 1, stdout: '' });
      expect(refused.stderr).to.include('a part of an import that was not finished: run homeostat import again');
    }
    await writeFile(path('file'), text);
    expect((await run('import', '--database', database, path('file'))).stdout).to.equal(
      `imported 3023 objects, sha256 ${sha256}, equal to the export\n`,
    );
    const moved = await serve({ database });
    expect((await moved.client.get(Widget, 'w2998')).metadata.version).to.equal(1);
  });

  it('leave no file behind when SIGTERM stops an export [slow]', async () => {
    const slow = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders();
    });
    await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
    const exporting = start(['export', '--server', url, '--output', path('never')]);
    await eventually(async () => (await readdir(folder)).length === 1);
    exporting.child.kill('SIGTERM');
    const { code, stderr } = await exporting.ended;
    expect([code, stderr]).to.deep.equal([1, 'homeostat export failed: stopped by SIGTERM\n']);
    expect(await readdir(folder)).to.deep.equal([]);
    slow.closeAllConnections();
    await new Promise((resolve) => slow.close(resolve));
  });

  for (const [args, text] of [
    [['export'], '--server or --database (or HOMEOSTAT_DATABASE) is needed'],
    [
      ['export', '--server', 'http://127.0.0.1:1', '--database', 'sqlite:x'],
      '--server and --database: give only one of them',
    ],
    [['export', '--server', 'ftp://a'], '--server: must be an http: or https: URL without a user'],
    [['export', '--server', 'http://u:p@a'], '--server: must be an http: or https: URL without a user'],
    [['export', '--database', 'oracle:x'], 'database: there is no driver for the URL scheme "oracle"'],
    [['export', '--database', 'memory:'], 'database: a memory: database has no data outside of its process'],
    [['import', 'x'], '--database (or HOMEOSTAT_DATABASE) is needed'],
    [['import', '--database', 'sqlite:x'], "missing required argument 'file'"],
  ] as const) {
    it(`exit with 2 for: ${args.join(' ')}`, async () => {
      const ended = await run(...args);
      expect(ended.stderr).to.include(text);
      expect(ended).to.include({ code: 2, stdout: '' });
    });
  }

  it('exit with 1 for a server that does not respond, and for a file that does not exist', async () => {
    const silent = await run('export', '--server', 'http://127.0.0.1:1');
    expect(silent.code).to.equal(1);
    expect(silent.stderr).to.match(/^homeostat export failed: fetch failed: /);
    const missing = await run('import', '--database', `sqlite:${path('new.db')}`, path('nothing'));
    expect(missing.code).to.equal(1);
    expect(missing.stderr).to.include('there is no file or folder');
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('print their options and arguments with --help', async () => {
    const [exporting, importing] = [await run('export', '--help'), await run('import', '--help')];
    for (const text of ['--server <url>', '--output <file>', 'HOMEOSTAT_DATABASE'])
      expect(exporting.stdout).to.include(text);
    for (const text of ['<file>', '- for stdin', 'until then, no server can use the database'])
      expect(importing.stdout).to.include(text);
  });
});
