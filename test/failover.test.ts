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

/** Acknowledged writes before and after the event. */
const writesAround = 250;

/** The name of the object that is created last, when everything else is done. */
const lastName = 'last';

/** The bytes of each existing object, by name. */
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
   * Puts a server under load, causes the event in the middle, and checks everything that writers and a watcher
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
    // Another server, which loads everything from the database, shows the same objects: so memory was equal to the
    // database.
    server = await startServer(database);
    expect(await list(server)).to.deep.equal(before);
  }

  it('continues through a crash of the primary, which recovers', async () => {
    await cluster.primary.query('CREATE DATABASE restarted');
    // The standby comes first: it responds, and is skipped.
    await checkThrough(urlOf('restarted', cluster.standby, cluster.primary), async () => {
      await cluster.haltInCommit();
      await cluster.primary.stopImmediately();
      cluster.standby.thaw();
      await cluster.primary.start();
      await cluster.whenSynchronous();
    });
  });

  it('continues at the promoted standby after the primary was killed, and has every acknowledged write', async () => {
    await cluster.primary.query('CREATE DATABASE failed_over');
    await checkThrough(urlOf('failed_over', cluster.primary, cluster.standby), async (load) => {
      await cluster.haltInCommit();
      await cluster.primary.kill();
      // The standby applies the data that the primary has sent.
      cluster.standby.thaw();
      // The primary stays down for longer than writers wait.
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

/** A write that was sent after another was acknowledged has the larger revision. */
function checkOrder({ stored }: WriteLoad): void {
  for (const { name, op, revision, sentAfter } of stored) {
    if (revision !== undefined) expect(revision, `${op} ${name}`).to.be.above(sentAfter);
  }
}

/** Checks that each object is its last acknowledged write as a whole, or the write of unknown outcome after it. */
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
 * Checks that each change comes once, in the order of revisions, with the bytes that the writer received, and that
 * together they give the present objects.
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
    // The outcome of the last write may be unknown; then the existing objects decide.
    const last = writes.at(-1)!;
    if (last.outcome === 'unknown' && !isStateAfter(last, present.get(name))) wanted.pop();
    expect(seen.get(name)?.map(({ type }) => type) ?? [], name).to.deep.equal(wanted);
  }
  expect([...seen.keys()].filter((name) => !possible.has(name))).to.deep.equal([]);
}

/** Claims are checked in the store itself: held values, and values whose objects are gone. */
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
