import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { KillableServer } from './support/servers/killable-server.ts';
import { thingsPath } from './support/models/restart-model.ts';
import { lastWrites, replay } from './support/writes/write-history.ts';
import type { Acknowledged, Listed, Seen } from './support/writes/write-history.ts';

const rounds = 10;
const writers = 200;

const jsonType = { 'Content-Type': 'application/json' };

/** The connections of the writers, which stay open until the server is killed. */
const agent = new Agent({ keepAlive: true });

interface ThingJson {
  readonly metadata: { readonly name: string; readonly resourceVersion: string; readonly version: number };
  readonly spec: { readonly slug: string; readonly round: number };
}

/**
 * Runs all writers of one round at the same time. Each writer creates one object and changes it twice; every third
 * writer then deletes its object. A writer ends early when the server is killed.
 */
async function write(url: string, round: number, onAcknowledged: (write: Acknowledged) => void): Promise<void> {
  const chains = Array.from({ length: writers }, (_, index) => writeChain(url, { round, index }, onAcknowledged));
  for (const end of await Promise.allSettled(chains))
    if (end.status === 'rejected' && end.reason instanceof RefusedError) throw end.reason;
}

async function writeChain(
  url: string,
  { round, index }: { round: number; index: number },
  onAcknowledged: (write: Acknowledged) => void,
): Promise<void> {
  const name = `thing-${round}-${index}`;
  const body = (value: string): object => ({
    apiVersion: 'things.example.com/v1',
    kind: 'Thing',
    metadata: { name },
    spec: { slug: `slug-${name}`, round, text: value },
  });
  const created = await send(url + thingsPath, 'POST', body('created'));
  onAcknowledged(acknowledged('create', created));
  for (const value of ['once', 'twice']) {
    const updated = await send(`${url}${thingsPath}/${name}`, 'PUT', body(value));
    onAcknowledged(acknowledged('update', updated));
  }
  if (index % 3 !== 0) return;
  await send(`${url}${thingsPath}/${name}`, 'DELETE');
  onAcknowledged({ name, op: 'delete', resourceVersion: undefined, version: 3 });
}

/** Sends a request of a writer. fetch would take more CPU time for thousands of requests. */
async function send(url: string, method: string, body?: object): Promise<ThingJson> {
  const call = request(url, { method, agent, ...(body === undefined ? {} : { headers: jsonType }) });
  // When the server is killed during a response, the request also emits an error, which no code awaits.
  call.on('error', () => undefined);
  call.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  const answer = await text(response);
  // A refused write must not count as a lost connection, because the test would then pass for the wrong reason.
  if ((response.statusCode ?? 0) >= 300) throw new RefusedError(answer);
  return JSON.parse(answer) as ThingJson;
}

class RefusedError extends Error {}

function acknowledged(op: 'create' | 'update', { metadata }: ThingJson): Acknowledged {
  return { name: metadata.name, op, resourceVersion: Number(metadata.resourceVersion), version: metadata.version };
}

/** Yields the events of a watch until its connection breaks. */
async function* eventsOf(response: Response): AsyncGenerator<{ type: string; object: ThingJson }> {
  let rest = '';
  for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines.filter((each) => each !== '')) {
      if (line.startsWith('{"type":"ERROR"')) throw new RefusedError(line);
      yield JSON.parse(line) as { type: string; object: ThingJson };
    }
  }
}

/** Opens a watch that receives each write after a revision as an event, and does not begin with the present objects. */
function openWatch(url: string, after: number, signal?: AbortSignal): Promise<Response> {
  const query = `?watch=true&resourceVersion=${after}&allowWatchBookmarks=true`;
  return fetch(url + thingsPath + query, signal === undefined ? {} : { signal });
}

/** Reads a watch from the revision `after` until the connection breaks, and returns its last revision. */
async function follow(watch: Response, after: number, events: Seen[]): Promise<number> {
  let revision = after;
  try {
    for await (const { type, object } of eventsOf(watch)) {
      revision = Number(object.metadata.resourceVersion);
      const { name, version } = object.metadata;
      if (type !== 'BOOKMARK') events.push({ type, name, resourceVersion: revision, version });
    }
  } catch (error) {
    // The test kills the server, so a broken connection is expected. An ERROR event of the watch is a bug.
    if (error instanceof RefusedError) throw error;
  }
  return revision;
}

async function list(url: string, query = ''): Promise<Listed[]> {
  const { items } = (await (await fetch(`${url}${thingsPath}${query}`)).json()) as { items: ThingJson[] };
  return items.map(({ metadata, spec }) => ({
    name: metadata.name,
    resourceVersion: Number(metadata.resourceVersion),
    version: metadata.version,
    slug: spec.slug,
  }));
}

async function revisionOf(url: string): Promise<number> {
  const answer = await fetch(`${url}${thingsPath}?size=1`);
  const { metadata } = (await answer.json()) as { metadata: { resourceVersion: string } };
  return Number(metadata.resourceVersion);
}

function checkDurable(history: readonly Acknowledged[], present: readonly Listed[]): void {
  const byName = new Map(present.map((thing) => [thing.name, thing]));
  for (const last of lastWrites(history).values()) {
    const thing = byName.get(last.name);
    if (last.op === 'delete') {
      expect(thing, `${last.name} was deleted`).to.equal(undefined);
      continue;
    }
    // The server may also have stored the next write to this object, although the client got no response to it.
    if (thing === undefined) {
      expect(last.version, `${last.name} is missing, and no client had deleted it`).to.equal(3);
      continue;
    }
    expect(thing.version, last.name).to.be.within(last.version, last.version + 1);
    if (thing.version === last.version) expect(thing.resourceVersion, last.name).to.equal(last.resourceVersion);
  }
}

async function checkIndexes(url: string, present: readonly Listed[], round: number): Promise<void> {
  const names = (things: readonly Listed[]): string[] => things.map(({ name }) => name).sort();
  const ofRound = present.filter(({ name }) => name.startsWith(`thing-${round}-`));
  expect(names(await list(url, `?fieldSelector=spec.round=${round}`))).to.deep.equal(names(ofRound));
  for (const thing of ofRound.slice(0, 5)) {
    expect(names(await list(url, `?fieldSelector=spec.slug=${thing.slug}`))).to.deep.equal([thing.name]);
  }
}

/**
 * Checks the claims of unique values: a creation with the value of an existing object is refused, and a creation with
 * the value of an absent object succeeds.
 */
async function checkClaims(url: string, present: readonly Listed[], round: number): Promise<void> {
  const absent = Array.from({ length: writers }, (_, index) => `thing-${round}-${index}`).filter(
    (name) => !present.some((thing) => thing.name === name),
  );
  const tryClaim = async (slug: string): Promise<number> => {
    const body = {
      apiVersion: 'things.example.com/v1',
      kind: 'Thing',
      metadata: { generateName: 'probe-' },
      spec: { slug, round: -1 },
    };
    const response = await fetch(url + thingsPath, { method: 'POST', body: JSON.stringify(body), headers: jsonType });
    const { metadata } = (await response.json()) as ThingJson;
    if (response.ok) await fetch(`${url}${thingsPath}/${metadata.name}`, { method: 'DELETE' });
    return response.status;
  };
  for (const { slug } of present.slice(0, 10)) expect(await tryClaim(slug), `${slug} is held`).to.equal(422);
  for (const name of absent.slice(0, 10)) expect(await tryClaim(`slug-${name}`), `slug-${name} is free`).to.equal(201);
}

describe('a server that is killed ten times during 200 concurrent writes [slow]', () => {
  let directory = '';
  let server: KillableServer | undefined;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'homeostat-restart-'));
  });

  after(async () => {
    await server?.kill();
    await rm(directory, { recursive: true });
  });

  it('loses no acknowledged write, and a resumed watcher misses no change', async () => {
    const file = join(directory, 'test.db');
    const history: Acknowledged[] = [];
    const events: Seen[] = [];
    let killedInTheMiddle = 0;
    server = await KillableServer.start(file);
    // The watch starts from a revision, not from 0. From 0, it would first receive the present objects, which do not
    // come in the order of their revisions.
    let revision = await revisionOf(server.url);
    for (let round = 1; round <= rounds; round += 1) {
      const { url } = server;
      const watched = follow(await openWatch(url, revision), revision, events);
      let inRound = 0;
      let killed: Promise<void> | undefined;
      await write(url, round, (each) => {
        history.push(each);
        inRound += 1;
        // In each round, the server is killed at a different point of the 667 writes.
        if (inRound >= round * 50) killed ??= server?.kill();
      });
      await killed;
      if (inRound < 667) killedInTheMiddle += 1;
      revision = await watched;
      server = await KillableServer.start(file);
      const present = await list(server.url);
      checkDurable(history, present);
      await checkIndexes(server.url, present, round);
      await checkClaims(server.url, present, round);
    }
    expect(killedInTheMiddle, 'rounds that were killed in the middle').to.equal(rounds);
    await checkWatcher(server.url, { revision, events, history });
  });
});

/**
 * Checks that the events are in order, each once, that they contain each acknowledged creation and update, and that
 * they lead to the stored objects.
 */
async function checkWatcher(
  url: string,
  watcher: { revision: number; events: Seen[]; history: readonly Acknowledged[] },
): Promise<void> {
  const { events, history } = watcher;
  const present = await list(url);
  // This revision may be larger than those of all present objects, because the last change may be a deletion.
  const last = await revisionOf(url);
  const done = new AbortController();
  const watch = await openWatch(url, watcher.revision, done.signal);
  const tail = follow(watch, watcher.revision, events);
  await eventually(() => (events.at(-1)?.resourceVersion ?? 0) >= last, {
    timeoutMs: 30_000,
    describe: () => `event ${last}`,
  });
  done.abort();
  await tail;
  const revisions = events.map((event) => event.resourceVersion);
  const misplaced = events.flatMap((event, at) =>
    at > 0 && event.resourceVersion <= (revisions[at - 1] ?? 0) ? [{ before: events[at - 1], event }] : [],
  );
  expect(misplaced, 'in order, each once').to.deep.equal([]);
  const seen = new Map(events.map((event) => [event.resourceVersion, event.name]));
  for (const { resourceVersion, name } of history) {
    if (resourceVersion !== undefined) expect(seen.get(resourceVersion)).to.equal(name);
  }
  const expected = new Map(present.map((thing) => [thing.name, thing.resourceVersion]));
  expect([...replay(events)].sort()).to.deep.equal([...expected].sort());
}
