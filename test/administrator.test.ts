import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createClient, findServer } from '@homeostat/controller-runtime';
import { defineModel } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';

const script = fileURLToPath(new URL('../../plugins/host/bin/homeostat.js', import.meta.url));

const namespaces = defineModel({
  gvk: 'v1/Namespace',
  plural: 'namespaces',
  schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
});

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

describe('The first administrator [slow]', () => {
  let folder: string;
  const running: ChildProcess[] = [];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'homeostat-administrator-'));
  });

  afterEach(async () => {
    for (const child of running.splice(0)) await end(child);
    rmSync(folder, { recursive: true });
  });

  async function end(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  }

  function start(args: readonly string[]): ChildProcess {
    // The child process gets the same Node options as this process.
    const command = [...process.execArgv, script, ...args];
    const child = spawn(process.execPath, command, { cwd: folder, env: { PATH: process.env['PATH'] } });
    running.push(child);
    return child;
  }

  async function run(...args: readonly string[]): Promise<Ended> {
    const child = start(args);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (piece) => (output += String(piece)));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output };
  }

  /** Resolves with the lines of the log when the server is ready. */
  async function serve(...args: readonly string[]): Promise<{ child: ChildProcess; log: string }> {
    const child = start(['serve', '--port', '0', ...args]);
    if (child.stdout === null) throw new Error('the server has no stdout');
    let log = '';
    for await (const line of createInterface({ input: child.stdout })) {
      log += `${line}\n`;
      if (line.includes('"msg":"ready"')) break;
    }
    child.stdout.resume();
    expect(log).to.include('"msg":"ready"');
    return { child, log };
  }

  const file = (): string => join(folder, 'data', 'admin.kubeconfig');
  const access = (): ReturnType<typeof findServer> => findServer({ HOMEOSTAT_KUBECONFIG: file() });

  it('has a kubeconfig that only its owner can read, and that commands and clients use', async () => {
    const { log } = await serve();
    expect(statSync(file()).mode & 0o777).to.equal(0o600);
    const { url, token = '' } = access();
    expect(token).to.have.length.above(40);
    expect(log).to.include('admin.kubeconfig').and.not.include(token);
    expect((await fetch(`${url}/apis`)).status).to.equal(401);
    const review = await fetch(`${url}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }),
    });
    expect(await review.json()).to.have.nested.property('status.userInfo.username', 'admin');
    const listed = await run('plugin', 'list');
    expect(listed, listed.output).to.include({ code: 0 });
    const exported = await run('export', '--server', url, '--output', 'backup.ndjson');
    expect(exported, exported.output).to.include({ code: 0 });
    const written = await run('kubeconfig', '--server', url);
    expect(written.output).to.include(`token: ${token}`);
    const { url: found, ...credentials } = access();
    expect((await createClient(found, credentials).list(namespaces)).items).to.have.length(1);
  });

  it('keeps the token when a server that ran without TLS starts again with --tls', async () => {
    await end((await serve()).child);
    const { token } = access();
    await serve('--tls');
    const { url, ca, token: kept } = access();
    expect(kept).to.equal(token);
    expect(url).to.match(/^https:/);
    expect(ca).to.include('BEGIN CERTIFICATE');
    const listed = await run('plugin', 'list');
    expect(listed, listed.output).to.include({ code: 0 });
  });

  it('has a token that commands send only to the server of the kubeconfig', async () => {
    const first = await serve();
    const other = await serve('--database', 'sqlite:other/h.db');
    expect(readFileSync(join(folder, 'other', 'admin.kubeconfig'), 'utf8')).to.not.equal(readFileSync(file(), 'utf8'));
    const [, url = ''] = /"url":"([^"]+)","msg":"listening"|"url":"([^"]+)"/.exec(other.log) ?? [];
    expect(url).to.not.equal('');
    const refused = await run('plugin', 'list', '--server', url);
    expect(refused).to.include({ code: 1 });
    expect(refused.output).to.include('HOMEOSTAT_KUBECONFIG');
    await end(first.child);
  });

  it('has a kubeconfig; the server does not start while other users of the machine can read this file', async () => {
    await end((await serve()).child);
    const { token = '' } = access();
    chmodSync(file(), 0o644);
    const refused = await run('serve', '--port', '0');
    expect(refused.code).to.equal(1);
    expect(refused.output).to.include('admin.kubeconfig').and.include('chmod 600 it').and.not.include(token);
  });
});
