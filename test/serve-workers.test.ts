import { createClient } from '@homeostat/controller-runtime';
import type { Client } from '@homeostat/controller-runtime';
import { defineModel } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { eventually } from 'homeostat/testing';
import { finish } from './support/commands/command.ts';
import type { Finished } from './support/commands/command.ts';
import { end, serve, serveWith } from './support/commands/serve-command.ts';
import type { Served } from './support/commands/serve-command.ts';

const ConfigMap = defineModel({
  gvk: 'v1/ConfigMap',
  plural: 'configmaps',
  scope: 'Namespaced',
  schema: {
    type: 'object',
    properties: { data: { type: 'object', additionalProperties: { type: 'string' } } },
  } as const,
});
const maps = '/api/v1/namespaces/default/configmaps';
const namespace = 'default';
const bin = fileURLToPath(new URL('../../plugins/host/bin/homeostat.js', import.meta.url));

interface LogLine {
  readonly msg: string;
  readonly pid: number;
  readonly process?: number;
}

const linesOf = ({ log }: Served): readonly LogLine[] => log.map((line) => JSON.parse(line) as LogLine);
const count = (served: Served, msg: string): number => linesOf(served).filter((line) => line.msg === msg).length;
const pidOf = (served: Served, number: number): number =>
  linesOf(served).findLast((line) => line.process === number)?.pid ?? 0;

/**
 * Runs a command that is refused, in a separate process, because the command writes its messages directly to stderr.
 */
function refused(database: string): Promise<Finished> {
  const args = ['serve', '--workers', '2', '--database', database, '--port', '0'];
  return finish(process.execPath, [bin, ...args], { environment: {} });
}

function hasEnded(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

describe('homeostat serve --workers [slow]', function () {
  this.timeout(90_000);
  let folder: string;
  let database: string;
  const started: Served[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-workers-'));
    database = `sqlite:${join(folder, 'homeostat.db')}`;
  });
  afterEach(async () => {
    for (const { child } of started.splice(0)) {
      if (child.exitCode === null && child.signalCode === null) await end(child, 'SIGKILL');
    }
    await rm(folder, { recursive: true, maxRetries: 10 });
  });

  async function start(...args: readonly string[]): Promise<Served> {
    const served = await serve('--database', database, '--no-console', ...args);
    started.push(served);
    return served;
  }

  async function startWorkers(): Promise<Served> {
    const served = await start('--workers', '2');
    await eventually(() => count(served, 'all processes are ready') > 0, { timeoutMs: 40_000 });
    return served;
  }

  /** Sends a request on a new connection, which goes to the next worker. */
  function send(served: Served, path: string, body?: object): Promise<Response> {
    const headers = { 'Content-Type': 'application/json', Connection: 'close' };
    const post = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    return fetch(served.url + path, { headers, ...post });
  }

  /**
   * Creates objects until the signal aborts, and adds the revisions of acknowledged creations to `acknowledged`, by
   * name.
   */
  async function createUntil(signal: AbortSignal, client: Client, acknowledged: Map<string, string>): Promise<void> {
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let round = 0; !signal.aborted; round += 1) {
        const name = `map-${writer}-${round}`;
        const created = client.create(ConfigMap, { metadata: { name, namespace }, data: { round: `${round}` } });
        // If the connection is lost, the object may or may not be stored, so it does not count as acknowledged.
        const { metadata } = (await created.catch(() => undefined)) ?? {};
        if (metadata?.resourceVersion !== undefined) acknowledged.set(name, metadata.resourceVersion);
      }
    });
    await Promise.all(writers);
  }

  async function expectStored(served: Served, acknowledged: ReadonlyMap<string, string>): Promise<readonly string[]> {
    const { items } = (await (await send(served, maps)).json()) as { readonly items: readonly ApiObject[] };
    const stored = new Map(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
    for (const [name, version] of acknowledged) expect(stored.get(name), name).to.equal(version);
    return [...stored.keys()].flatMap((name) => (name?.startsWith('map-') ? [name] : []));
  }

  it('loses no acknowledged write when workers are killed under load, and watches resume on another worker', async () => {
    const served = await startWorkers();
    const client = createClient(served.url);
    const [over, watching] = [new AbortController(), new AbortController()];
    const acknowledged = new Map<string, string>();
    const { metadata } = await client.list(ConfigMap, { namespace });
    const seen: readonly ApiObject[][] = [[], [], [], []];
    const watches = seen.map(async (objects) => {
      const options = { namespace, signal: watching.signal, resourceVersion: metadata.resourceVersion ?? '' };
      for await (const { type, object } of client.watch(ConfigMap, options)) {
        if (type === 'ADDED') objects.push(object);
      }
    });
    const load = createUntil(over.signal, client, acknowledged);
    for (const number of [2, 1, 2]) {
      const before = acknowledged.size;
      await eventually(() => acknowledged.size > before + 100, { timeoutMs: 20_000 });
      const ready = count(served, 'ready');
      process.kill(pidOf(served, number), 'SIGKILL');
      await eventually(() => count(served, 'ready') > ready, { timeoutMs: 40_000 });
    }
    over.abort();
    await load;
    for (let read = 0; read < 4; read += 1) {
      const names = await expectStored(served, acknowledged);
      for (const objects of seen) {
        await eventually(() => objects.length >= names.length, { timeoutMs: 20_000 });
        expect(objects.map((object) => object.metadata.name).toSorted()).to.deep.equal(names.toSorted());
        const revisions = objects.map((object) => Number(object.metadata.resourceVersion));
        expect(revisions).to.deep.equal(revisions.toSorted((a, b) => a - b));
      }
    }
    watching.abort();
    await Promise.all(watches);
    expect(await end(served.child, 'SIGTERM')).to.equal(0);
    expect(linesOf(served).at(-1)?.msg).to.equal('all processes have stopped');
  });

  it('returns an object from each worker as soon as any worker has acknowledged the creation', async () => {
    const served = await startWorkers();
    for (let round = 0; round < 20; round += 1) {
      const name = `m-${round}`;
      expect((await send(served, maps, { metadata: { name } })).status).to.equal(201);
      for (const read of [1, 2]) expect((await send(served, `${maps}/${name}`)).status, `${read}`).to.equal(200);
    }
    expect(await end(served.child, 'SIGTERM')).to.equal(0);
  });

  it('loses no acknowledged write when the process with the database is killed; all workers then end', async () => {
    const served = await startWorkers();
    const over = new AbortController();
    const acknowledged = new Map<string, string>();
    const load = createUntil(over.signal, createClient(served.url), acknowledged);
    await eventually(() => acknowledged.size > 200, { timeoutMs: 20_000 });
    const workers = [1, 2].map((number) => pidOf(served, number));
    await end(served.child, 'SIGKILL');
    over.abort();
    await load;
    await eventually(() => workers.every(hasEnded), { timeoutMs: 20_000 });
    await expectStored(await start(), acknowledged);
  });

  it('stops with exit code 1 when the thread for SQLite ends', async () => {
    const [module, signal] = [join(folder, 'end-thread.mjs'), join(folder, 'end')];
    // Each thread of each process loads this module. The module ends the thread for SQLite once the file `end` exists.
    await writeFile(
      module,
      `import { existsSync } from 'node:fs';
      if (process.argv[1].endsWith('sqlite-worker.js'))
        setInterval(() => { if (existsSync(${JSON.stringify(signal)})) process.exit(3); }, 50).unref();`,
    );
    const environment = { NODE_OPTIONS: `--import=${pathToFileURL(module).href}` };
    const served = await serveWith(environment, '--database', database, '--no-console', '--workers', '2');
    started.push(served);
    const exited = once(served.child, 'exit');
    await writeFile(signal, '');
    await eventually(
      async () => {
        const answer = await send(served, maps, { metadata: { generateName: 'm-' } }).catch(() => undefined);
        return answer?.status !== 201;
      },
      { timeoutMs: 20_000 },
    );
    expect(await exited).to.deep.equal([1, null]);
    expect(count(served, 'the database cannot be used any more: stopping')).to.equal(1);
  });

  it('does not start while another process has the database open, and reports this', async () => {
    await startWorkers();
    const { code, stderr } = await refused(database);
    expect(stderr).to.include('homeostat could not start:').and.include('stop the other process');
    expect(code).to.equal(1);
  });

  it('is refused with exit code 2 for a database in memory', async () => {
    const { code, stderr } = await refused('memory:');
    const message = 'workers need a database in a file: choose --database sqlite:<file>, or omit --database';
    expect([code, stderr]).to.deep.equal([2, `--workers: ${message}\n`]);
  });
});
