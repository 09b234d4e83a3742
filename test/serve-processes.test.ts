import { expect } from 'chai';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createClient, readKubeconfig, trustingFetch } from '@homeostat/controller-runtime';
import { eventually } from 'homeostat/testing';
import { TestDatabase } from './support/databases/postgres-server.ts';
import { Person } from './support/models/models.ts';
import { end } from './support/commands/serve-command.ts';

interface LogLine {
  readonly msg: string;
  readonly level: string;
  readonly pid: number;
  readonly process?: number;
  readonly url?: string;
}

const bin = fileURLToPath(new URL('../../plugins/host/bin/homeostat.js', import.meta.url));
const example = fileURLToPath(new URL('../../examples/01-person', import.meta.url));

describe('homeostat serve --processes [slow]', () => {
  let database: TestDatabase;
  let folder: string;
  let child: ChildProcess | undefined;
  let log: LogLine[];

  before(async function open() {
    database = await TestDatabase.create(this);
    folder = await mkdtemp(join(tmpdir(), 'homeostat-processes-'));
  });
  afterEach(() => {
    child?.kill('SIGKILL');
  });
  after(async () => {
    await database?.drop();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  const serve = (...args: readonly string[]): ChildProcess => {
    child = spawn(process.execPath, [...process.execArgv, bin, 'serve', '--port', '0', ...args], { cwd: folder });
    log = [];
    createInterface({ input: child.stdout! }).on('line', (line) => log.push(JSON.parse(line) as LogLine));
    return child;
  };
  const lines = (msg: string): readonly LogLine[] => log.filter((line) => line.msg === msg);
  const pidOf = (number: number): number => log.findLast((line) => line.process === number)?.pid ?? 0;

  it('serves TLS at one port with two processes, replaces a killed process, and stops both on SIGTERM', async function () {
    this.timeout(90_000);
    const running = serve('--processes', '2', '--database', database.url, '--tls', '--plugin', example);
    await eventually(() => lines('all processes are ready').length > 0, { timeoutMs: 40_000 });
    const ready = lines('ready');
    expect(ready.map((line) => line.process).toSorted()).to.deep.equal([1, 2]);
    expect(new Set(ready.map(({ url }) => url)).size).to.equal(1);
    const access = readKubeconfig(join(folder, 'data', 'admin.kubeconfig'));
    expect(access.url).to.equal(ready[0]?.url);
    const send = trustingFetch({ ca: access.ca ?? '' });
    const get = (path: string, token = access.token): Promise<Response> =>
      send(`${access.url}${path}`, { headers: { authorization: `Bearer ${token}`, connection: 'close' } });
    expect((await get('/apis', 'x'.repeat(20))).status).to.equal(401);

    const client = createClient(access.url, { token: access.token ?? '', ca: access.ca ?? '' });
    await client.create(Person, { metadata: { name: 'mary' }, spec: { name: 'Mary' } });
    await eventually(async () => (await client.get(Person, 'mary')).status?.greeting);
    await Promise.all(Array.from({ length: 8 }, () => get('/version')));
    const metrics = async (): Promise<string> => (await get('/metrics')).text();
    const found = await metrics();
    for (const number of [1, 2])
      expect(found).to.match(new RegExp(`^process_start_time_seconds\\{process="${number}"\\}`, 'm'));
    expect(found.match(/^# TYPE process_start_time_seconds /gm)).to.have.lengthOf(1);
    const leaders = await eventually(async () => {
      const held = (await metrics()).match(/^leader_election_master_status\{.* 1$/gm) ?? [];
      return held.length > 0 ? held : undefined;
    });
    // Each plugin has its own leader, so the metrics have exactly one line for each Lease.
    const leases = leaders.map((line) => /[{,]name="([^"]+)"/.exec(line)?.[1]);
    expect(new Set(leases).size, leaders.join('\n')).to.equal(leaders.length);

    process.kill(pidOf(2), 'SIGKILL');
    await eventually(() => lines('a process has ended; a new process replaces it').length > 0);
    expect((await get('/readyz')).status).to.equal(200);
    await eventually(() => lines('ready').length === 3, { timeoutMs: 40_000 });
    expect(new Set(lines('ready').map(({ url }) => url)).size).to.equal(1);

    expect(await end(running, 'SIGTERM')).to.equal(0);
    expect(
      lines('stopped')
        .map((line) => line.process)
        .toSorted(),
    ).to.deep.equal([1, 2]);
    expect(log.at(-1)?.msg).to.equal('all processes have stopped');
    expect(log.filter(({ level }) => level === 'error').map(({ msg }) => msg)).to.deep.equal([
      'a process has ended; a new process replaces it',
    ]);
  });

  it('is refused with exit code 2 on a database that only one process can open', async () => {
    const refused = serve('--processes', '2', '--database', 'sqlite:x.db');
    expect(await once(refused, 'exit')).to.deep.equal([2, null]);
  });

  it('ends with the exit code of its first process when the first process cannot start', async () => {
    const failing = serve('--processes', '2', '--database', 'postgres://nobody@127.0.0.1:1/none');
    expect(await once(failing, 'exit')).to.deep.equal([1, null]);
  });
});
