import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import type { ClusterServer } from './support/databases/cluster-server.ts';
import { PostgresCluster } from './support/databases/postgres-cluster.ts';
import { Thing, thingsPath } from './support/models/restart-model.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { WatchReader } from './support/network/watch-reader.ts';
import { WriteLoad } from './support/writes/write-load.ts';
import type { WriteAttempt } from './support/writes/write-load.ts';

const writers = 24;

/** The number of acknowledged writes before the failure, and again after the failure. */
const writesAround = 250;

/** The name of the object that is created last, after all other writes. */
const lastName = 'last';

/** The JSON of each existing object, by name. */
type Present = ReadonlyMap<string, string>;

describe('an API server on a PostgreSQL primary with a synchronous standby [slow]', () => {
  let cluster: PostgresCluster;
  let server: TestServer | undefined;

  before(async function start() {
    cluster = await PostgresCluster.start(this);
  });
  afterEach(() => server?.stop());
  after(async () => {
    await cluster?.stop();
  });

  function urlOf(database: string, ...servers: readonly ClusterServer[]): string {
    return `postgres://postgres@${servers.map(({ host }) => host).join()}/${database}?target_session_attrs=read-write`;
  }

  /**
   * Runs a server under load, causes the failure in the middle, and checks everything that the writers and a watcher
   * received.
   */
  async function checkThrough(database: string, happen: (load: WriteLoad) => Promise<void>): Promise<void> {
    server = await startServer(database);
    const watch = await server.watch(`${thingsPath}?watch=true&resourceVersion=${await server.revision(thingsPath)}`);
    const load = new WriteLoad(server, writers);
    await load.goesOn(writesAround);
    await happen(load);
    await load.goesOn(writesAround);
    await load.end();
    await eventually(async () => (await server?.get('/readyz'))?.status === 200);
    const present = await list(server);
    checkOrder(load);
    checkPresent(load, present);
    await server.create(thingsPath, thing(lastName, lastName));
    await watch.until((events) => events.at(-1)?.object.metadata.name === lastName, 'the last event');
    checkWatcher(watch, load, present);
    await checkClaims(server, load, present);
    const before = await list(server);
    await server.stop();
    // A new server loads all objects from the database. It returns the same objects, so the memory of the first server
    // was equal to the database.
    server = await startServer(database);
    expect(await list(server)).to.deep.equal(before);
  }

  it('continues after a crash and a restart of the primary', async () => {
    await cluster.primary.query('CREATE DATABASE restarted');
    // The standby is first in the URL. It accepts connections, but is skipped because it is read-only.
    await checkThrough(urlOf('restarted', cluster.standby, cluster.primary), async () => {
      await cluster.haltInCommit();
      await cluster.primary.stopImmediately();
      cluster.standby.thaw();
      await cluster.primary.start();
      await cluster.whenSynchronous();
    });
  });

  it('continues on the promoted standby after the end of the primary, and has all acknowledged writes', async () => {
    await cluster.primary.query('CREATE DATABASE failed_over');
    await checkThrough(urlOf('failed_over', cluster.primary, cluster.standby), async (load) => {
      await cluster.haltInCommit();
      await cluster.primary.kill();
      // The standby now applies the data that the primary has sent.
      cluster.standby.thaw();
      // The standby is promoted only after a write has failed. So the primary is down for longer than a writer waits
      // for its response.
      await load.isRefused();
      await cluster.standby.promote();
    });
  });
});

async function startServer(database: string): Promise<TestServer> {
  const server = await TestServer.start({ database });
  server.api.schemeManager.register(Thing);
  await server.api.whenReady(Thing);
  return server;
}

async function list(server: TestServer): Promise<Present> {
  const { body } = await server.get(thingsPath);
  const items = body.items as { metadata: { name: string } }[];
  return new Map(items.map((item) => [item.metadata.name, JSON.stringify(item)]));
}

/**
 * Checks the order of revisions: if a write was sent after the acknowledgement of another one, its revision is larger.
 */
function checkOrder({ stored }: WriteLoad): void {
  for (const { name, op, revision, sentAfter } of stored) {
    if (revision !== undefined) expect(revision, `${op} ${name}`).to.be.above(sentAfter);
  }
}

/** Checks that each object is equal to its last acknowledged write, or to a later write with an unknown outcome. */
function checkPresent({ attempts }: WriteLoad, present: Present): void {
  const all = byName(attempts);
  for (const [name, writes] of all) {
    const stored = writes.findLast(({ outcome }) => outcome === 'stored');
    const unknown = writes.find(({ outcome }) => outcome === 'unknown');
    const found = present.get(name);
    if (unknown && isStateAfter(unknown, found)) continue;
    const expected = stored?.op === 'delete' ? undefined : stored?.body;
    expect(found, `${name} after ${JSON.stringify(writes.map(({ op, outcome }) => [op, outcome]))}`).to.equal(expected);
  }
  const unasked = [...present.keys()].filter((name) => !all.has(name));
  expect(unasked, 'objects that no client has written').to.deep.equal([]);
}

function isStateAfter({ op, name, text }: WriteAttempt, found: string | undefined): boolean {
  if (op === 'delete' || found === undefined) return op === 'delete' && found === undefined;
  const { spec } = JSON.parse(found);
  return spec.text === text && spec.slug === `slug-${name}`;
}

/**
 * Checks that the watcher received each change once, in the order of revisions, with the bytes that the writer
 * received, and that the changes lead to the present objects.
 */
function checkWatcher({ events }: WatchReader, { attempts, stored }: WriteLoad, present: Present): void {
  const changes = events.slice(0, -1);
  const revisions = changes.map(({ object }) => Number(object.metadata.resourceVersion));
  expect(revisions, 'in order, each once').to.deep.equal([...new Set(revisions)].sort((a, b) => a - b));
  const bytes = new Map(changes.map(({ object }, at) => [revisions[at], JSON.stringify(object)]));
  for (const { revision, body, name } of stored) {
    if (revision !== undefined) expect(bytes.get(revision), `${name} at ${revision}`).to.equal(body);
  }
  const types = { create: 'ADDED', update: 'MODIFIED', delete: 'DELETED' };
  const possible = byName(attempts.filter(({ outcome }) => outcome !== 'refused'));
  const seen = byName(changes.map(({ type, object }) => ({ type, name: object.metadata.name as string })));
  for (const [name, writes] of possible) {
    const wanted = writes.map(({ op }) => types[op]);
    // If the outcome of the last write is unknown, the existing objects show whether it was stored.
    const last = writes.at(-1)!;
    if (last.outcome === 'unknown' && !isStateAfter(last, present.get(name))) wanted.pop();
    expect(seen.get(name)?.map(({ type }) => type) ?? [], name).to.deep.equal(wanted);
  }
  expect([...seen.keys()].filter((name) => !possible.has(name))).to.deep.equal([]);
}

/**
 * Checks that the database enforces unique values: it refuses a new object with the slug of an existing object, and
 * accepts a new object with the slug of a deleted object.
 */
async function checkClaims(server: TestServer, { attempts }: WriteLoad, present: Present): Promise<void> {
  const names = [...byName(attempts).keys()];
  const [held, free] = [names.filter((name) => present.has(name)), names.filter((name) => !present.has(name))];
  expect([held.length, free.length].every((count) => count > 10)).to.equal(true);
  for (const [slugs, status] of [
    [held, 422],
    [free, 201],
  ] as const) {
    for (const name of slugs.slice(-20)) {
      const answer = await server.post(thingsPath, thing(`again-${name}`, `slug-${name}`));
      expect(answer.status, answer.text).to.equal(status);
    }
  }
}

function thing(name: string, slug: string): object {
  return { apiVersion: 'things.example.com/v1', kind: 'Thing', metadata: { name }, spec: { slug, round: 0 } };
}

function byName<Each extends { readonly name: string }>(all: readonly Each[]): ReadonlyMap<string, readonly Each[]> {
  const found = new Map<string, Each[]>();
  for (const each of all) found.set(each.name, [...(found.get(each.name) ?? []), each]);
  return found;
}
