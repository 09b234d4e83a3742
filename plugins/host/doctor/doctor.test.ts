import { startApiServer } from '@homeostat/apiserver';
import { defineModel } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { chmod, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../commands/run-command.fixture.ts';
import type { Finished } from '../commands/run-command.fixture.ts';
import { startTestServer } from '../testing/index.ts';
import type { TestServer, TestServerOptions } from '../testing/index.ts';
import type { Finding } from './finding.ts';
import { judgeNode } from './judge-runtime.ts';

const Note = defineModel({
  gvk: 'notes.example.com/v1/Note',
  plural: 'notes',
  schema: { type: 'object', properties: { spec: { type: 'object', properties: { text: { type: 'string' } } } } },
});

describe('homeostat doctor [spec experience-doctor]', () => {
  let folder: string;
  let server: TestServer | undefined;
  let other: Server | undefined;
  const path = (name: string): string => join(folder, name);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-doctor-'));
  });

  afterEach(async () => {
    await server?.stop();
    server = undefined;
    await new Promise((resolve) => (other === undefined ? resolve(undefined) : other.close(resolve)));
    other = undefined;
    await rm(folder, { recursive: true, force: true });
  });

  async function serve(options: TestServerOptions): Promise<TestServer> {
    return (server = await startTestServer({ models: [Note], ...options }));
  }

  async function judged(...args: readonly string[]): Promise<Finished & { readonly findings: readonly Finding[] }> {
    const database = args.includes('--database') ? [] : ['--database', `sqlite:${path('a.db')}`];
    const port = args.includes('--port') ? [] : ['--port', '0'];
    const finished = await runCommand(['doctor', '-o', 'json', ...database, ...port, ...args]);
    const { findings } = JSON.parse(finished.stdout === '' ? '{}' : finished.stdout) as { findings: Finding[] };
    return { ...finished, findings };
  }

  const of = (findings: readonly Finding[], check: string): readonly Finding[] =>
    findings.filter((finding) => finding.check === check);

  async function makeDatabase(): Promise<string> {
    const database = `sqlite:${path('a.db')}`;
    const { client } = await serve({ database });
    await client.create(Note, { metadata: { name: 'a' }, spec: { text: 'damaged' } });
    await server?.stop();
    server = undefined;
    return database;
  }

  it('finds no error before the first start of a server, and creates no file', async () => {
    const { code, findings } = await judged();
    expect(code).to.equal(0);
    expect(of(findings, 'database')[0]?.message).to.equal(`${path('a.db')} does not exist yet: the server makes it`);
    await readFile(path('a.db')).then(
      () => expect.fail('the database was made'),
      () => undefined,
    );
  });

  it('prints a line per finding, with the cure below it', async () => {
    const { code, stdout } = await runCommand(['doctor', '--database', 'memory:', '--plugin', path('none')]);
    expect(code).to.equal(1);
    expect(stdout)
      .to.match(/^error {4}plugins +\S+none: there is no such folder\n +→ repair the plugin/m)
      .and.match(/\n\n1 errors?, \d+ warnings?\n$/);
  });

  it('names each mistake of a plugin, a file that does not exist, and a wrong database, with the cure', async () => {
    await mkdir(path('broken'));
    await writeFile(path('broken/plugin.yaml'), 'nam: x\n');
    const { code, findings } = await judged('--plugin', path('broken'), '--database', 'nonsense://x');
    expect(code).to.equal(1);
    const plugins = of(findings, 'plugins');
    expect(plugins.map(({ message }) => message.replace(/.*plugin\.yaml/, ''))).to.deep.equal([
      ': name: is missing',
      ': version: is missing',
      ':1: unknown key "nam". Did you mean "name"?',
    ]);
    expect(plugins.at(-1)?.cure).to.match(/^repair the plugin; homeostat check/);
    expect(of(findings, 'database')).to.have.nested.property('[0].cure', 'correct --database');
    const tls = await judged('--tls', '--tls-cert', path('none.pem'), '--tls-key', path('none.key'));
    expect(of(tls.findings, 'tls')).to.deep.equal([
      {
        check: 'tls',
        level: 'error',
        message: `there is no file or folder "${path('none.pem')}"`,
        cure: 'name a file that exists',
      },
    ]);
  });

  it('names a database file that cannot be opened, because it is a folder', async () => {
    await mkdir(path('folder.db'));
    const { findings } = await judged('--database', `sqlite:${path('folder.db')}`);
    expect(of(findings, 'database')).to.deep.equal([
      {
        check: 'database',
        level: 'error',
        message: `cannot open ${path('folder.db')}: SQLite: unable to open database file`,
        cure: 'start the database, and check host, port and path of --database',
      },
    ]);
  });

  it('names the file of the authority that a folder of certificates lacks', async () => {
    const directory = path('tls');
    const authority = join(directory, 'authority.pem');
    const judgedFolder = async (): Promise<Finding | undefined> =>
      of((await judged('--tls', '--tls-dir', directory)).findings, 'tls')[0];
    expect((await judgedFolder())?.message).to.equal(`${directory}: the server will make an authority there`);
    await (await startApiServer({ database: 'memory:', port: 0, tls: { directory } })).stop();
    await rm(join(directory, 'ca.crt'));
    expect((await judgedFolder())?.message).to.match(new RegExp(`^${authority} is valid until `));
    await rm(authority);
    expect(await judgedFolder()).to.deep.equal({
      check: 'tls',
      level: 'error',
      message: `${authority} is missing, and clients trust the authority that it held`,
      cure: 'restore it from a backup, or empty the folder and write every kubeconfig again',
    });
  });

  it('refuses options that serve refuses, with exit code 2', async () => {
    const { code, stderr } = await runCommand(['doctor', '--port', 'x']);
    expect({ code, stderr }).to.deep.equal({
      code: 2,
      stderr: '--port: must be a whole number from 0 to 65535, not "x"\n',
    });
    expect((await runCommand(['doctor', '-o', 'xml'])).code).to.equal(2);
  });

  it('counts the objects of a database, and names the objects that cannot be read', async () => {
    await makeDatabase();
    const sound = await judged();
    expect(sound.findings.filter(({ level }) => level === 'error')).to.deep.equal([]);
    expect(of(sound.findings, 'database')[0]?.message).to.match(/^\d+ objects, tables of version \d+$/);
    const bytes = await readFile(path('a.db'));
    // This damages both copies of the object: the copy in its table and the copy in the change log.
    for (let at = bytes.indexOf('"damaged"'); at >= 0; at = bytes.indexOf('"damaged"')) bytes.write('\u0001', at);
    await writeFile(path('a.db'), bytes);
    const { code, findings } = await judged();
    expect(code).to.equal(1);
    expect(of(findings, 'objects')).to.have.length(1);
    expect(of(findings, 'objects')[0]?.message).to.equal(
      '/registry/notes.example.com/notes/a cannot be read: the stored value is not JSON',
    );
  });

  it('reports a database that is in use, and a file that is not a database', async () => {
    const database = `sqlite:${path('b.db')}`;
    await serve({ database });
    const used = await judged('--database', database);
    expect(of(used.findings, 'database')[0]?.message).to.include('is in use by another process');
    await writeFile(path('c.db'), 'x'.repeat(5000));
    const damaged = await judged('--database', `sqlite:${path('c.db')}`);
    expect(of(damaged.findings, 'database')[0]).to.include({ level: 'error' });
    expect(of(damaged.findings, 'database')[0]?.message).to.include('file is not a database');
  });

  it('reports a file with secrets to which other users than its owner have access', async () => {
    for (const name of ['admin.kubeconfig', 'encryption.key']) {
      await writeFile(path(name), '');
      await chmod(path(name), 0o644);
    }
    const { code, findings } = await judged();
    expect(code).to.equal(1);
    const problem = 'users other than its owner have access to this file, which holds a secret (mode 0644)';
    expect(of(findings, 'kubeconfig')).to.deep.equal([
      { check: 'kubeconfig', level: 'error', message: `${path('admin.kubeconfig')}: ${problem}: chmod 600 it` },
    ]);
    expect(of(findings, 'permissions')).to.deep.equal([
      {
        check: 'permissions',
        level: 'error',
        message: `${path('encryption.key')}: ${problem}`,
        cure: `chmod 600 ${path('encryption.key')}`,
      },
    ]);
  });

  it('reports that the clock is earlier than the last write of the database [slow]', async () => {
    await makeDatabase();
    await utimes(path('a.db'), 4e9, 4e9);
    expect(of((await judged()).findings, 'clock')[0]).to.include({ level: 'warning' });
  });

  it('reports that another program uses the port', async () => {
    const listening = createServer((_, response) => response.end('hello'));
    other = listening;
    await new Promise<void>((resolve) => void listening.listen(0, '127.0.0.1', resolve));
    const { port } = listening.address() as AddressInfo;
    const { findings } = await judged('--port', String(port));
    expect(of(findings, 'port')[0]).to.include({
      level: 'error',
      message: `127.0.0.1:${port} is in use by another program`,
    });
  });

  it('reports that a running server is ready', async () => {
    const { url } = await serve({});
    const { code, findings } = await judged('--server', url);
    expect(findings.filter(({ level }) => level === 'error')).to.deep.equal([]);
    expect(code).to.equal(0);
    expect(of(findings, 'server')[0]?.message).to.equal(`${url} is ready`);
  });

  it('reports that no server responds', async () => {
    const { code, findings } = await judged('--server', 'http://127.0.0.1:1');
    expect(code).to.equal(1);
    expect(of(findings, 'server')[0]?.cure).to.equal('start it: homeostat serve');
  });

  it('reports a Node version that is too old, or whose release line gets no more fixes', () => {
    const level = (version: string, time: string): string | undefined => judgeNode(version, Date.parse(time))[0]?.level;
    expect(level('20.18.3', '2025-01-01')).to.equal('error');
    expect(level('20.19.0', '2026-04-30')).to.equal('ok');
    expect(level('20.19.0', '2026-05-01')).to.equal('warning');
    expect(level('24.1.0', '2027-01-01')).to.equal('ok');
  });
});
