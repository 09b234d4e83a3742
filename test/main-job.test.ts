import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../', import.meta.url));
const persons = '/apis/people.example.com/v1alpha1/persons';

interface PersonJson {
  readonly metadata: { readonly version: number; readonly uid: string; readonly finalizers?: readonly string[] };
  readonly status?: { readonly greeting?: string };
}

interface Served {
  readonly url: string;
  readonly child: ChildProcess;
  readonly log: readonly string[];
}

/** `homeostat serve` with the first example, as a user starts it. */
async function serve(database: string): Promise<Served> {
  const command = [
    'plugins/host/bin/homeostat.js',
    'serve',
    '--plugin',
    'examples/01-person',
    '--port',
    '0',
    '--database',
    database,
  ];
  const child = spawn(process.execPath, command, { cwd: root });
  const log: string[] = [];
  const ready = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      log.push(line);
      const entry = JSON.parse(line) as { msg: string; url: string };
      if (entry.msg === 'ready') resolve(entry.url);
    });
    child.once('exit', (code) => reject(new Error(`homeostat ended with ${String(code)}:\n${log.join('\n')}`)));
  });
  return { url: await ready, child, log };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const exited = once(child, 'exit') as Promise<[number | null]>;
  child.kill(signal);
  return (await exited)[0];
}

async function call<T>(url: string, init: RequestInit = {}): Promise<{ status: number; body: T }> {
  const response = await fetch(url, { headers: { 'Content-Type': 'application/json' }, ...init });
  return { status: response.status, body: (await response.json()) as T };
}

describe('homeostat serve with a plugin', () => {
  let directory = '';
  let served: Served | undefined;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'homeostat-main-'));
  });

  after(async () => {
    if (served?.child.exitCode === null && served.child.signalCode === null) await end(served.child, 'SIGKILL');
    await rm(directory, { recursive: true });
  });

  it('reconciles what is created, keeps it over SIGKILL, and says goodbye to what is deleted', async function () {
    this.timeout(60_000);
    const database = `sqlite:${join(directory, 'main.db')}`;
    served = await serve(database);
    const grace = {
      apiVersion: 'people.example.com/v1alpha1',
      kind: 'Person',
      metadata: { name: 'hopper' },
      spec: { name: 'Grace' },
    };
    const created = await call<PersonJson>(served.url + persons, { method: 'POST', body: JSON.stringify(grace) });
    expect(created.status).to.equal(201);
    const hopper = (): string => `${served?.url}${persons}/hopper`;
    const greeted = await eventually(async () => {
      const { body } = await call<PersonJson>(hopper());
      return body.status?.greeting === 'Hello Grace' && body;
    });
    expect(greeted.metadata.finalizers).to.have.length(1);

    await end(served.child, 'SIGKILL');
    served = await serve(database);
    const kept = await call<PersonJson>(hopper());
    expect(kept.body).to.deep.equal(greeted);

    const changed = { ...grace, spec: { name: 'Grace Hopper' } };
    await call(hopper(), { method: 'PUT', body: JSON.stringify({ ...changed, metadata: kept.body.metadata }) });
    await eventually(async () => (await call<PersonJson>(hopper())).body.status?.greeting === 'Hello Grace Hopper');
    expect((await call(hopper(), { method: 'DELETE' })).status).to.equal(200);
    await eventually(async () => (await call(hopper())).status === 404);
    expect(served.log.join('\n')).to.include('Goodbye Grace Hopper');
    expect(await end(served.child, 'SIGTERM')).to.equal(0);
  });
});
