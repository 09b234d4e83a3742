import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportDatabase, ExportReader, importDatabase } from '@homeostat/apiserver';
import type { ExportedObject } from '@homeostat/apiserver';
import { silentLogger } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { letters, newLetter, person, persons } from './support/models/models.ts';
import { createNamespaces } from './support/models/namespaces.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

interface Exported {
  readonly objects: readonly ExportedObject[];
  readonly proved: ReturnType<ExportReader['end']>;
}

function read(text: string): Exported {
  const reader = new ExportReader();
  const objects = reader.push(Buffer.from(text));
  return { objects, proved: reader.end() };
}

/**
 * The number of objects of the kind Letter, each of 1 MB. Together they are larger than the system's buffers of a
 * connection, 4 MiB for sending and 6 MiB for receiving.
 */
const letterCount = 16;

/** The key prefixes of the kinds that have objects on every server from the start. */
const ownKinds = ['/registry//namespaces/', '/registry//serviceaccounts/', '/registry/rbac.authorization.k8s.io/'];

/** Returns an export without the objects that every server has from the start. */
function ofModels(text: string): Exported {
  const { objects, ...exported } = read(text);
  return { ...exported, objects: objects.filter(({ key }) => !ownKinds.some((kind) => key.startsWith(kind))) };
}

async function exportOf(server: TestServer): Promise<Exported> {
  return ofModels((await server.get('/export')).text);
}

/** Reads the rest of a response, and returns true when it was complete. */
async function isWhole(answer: IncomingMessage): Promise<boolean> {
  answer.resume();
  await eventually(() => answer.closed);
  return answer.complete;
}

/** Returns an object without its resourceVersion, which differs between databases. */
function apart({ metadata, ...rest }: { readonly metadata: Readonly<Record<string, unknown>> }): unknown {
  const { resourceVersion: _, ...kept } = metadata;
  return { ...rest, metadata: kept };
}

describe('an export of a server', () => {
  let server: TestServer;
  const opened: IncomingMessage[] = [];
  const connectionEnds: object[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => void connectionEnds.push(fields) };

  /** Opens a response without reading its body. */
  async function opening(): Promise<IncomingMessage> {
    const call = request({ host: '127.0.0.1', port: server.port, path: '/export', agent: false });
    call.end();
    const [answer] = (await once(call, 'response')) as [IncomingMessage];
    answer.on('error', () => undefined);
    opened.push(answer);
    return answer;
  }

  /** Creates objects that together are larger than the buffers of the connection. */
  async function fill(): Promise<void> {
    const text = 'x'.repeat(1_000_000);
    const path = '/apis/people.example.com/v1alpha1/namespaces/home/letters';
    const letter = (_: unknown, at: number): object => newLetter(`l${at}`, { text: `${at} ${text}` });
    await Promise.all(Array.from({ length: letterCount }, letter).map((each) => server.create(path, each)));
  }

  const start = async (options: object = {}): Promise<void> => {
    server = await TestServer.start({ logger, ...options });
    await createNamespaces(server.api.client, ['home']);
  };

  afterEach(async () => {
    for (const answer of opened.splice(0)) answer.destroy();
    await server.stop();
  });

  it('has every stored object of all kinds, in the order of keys, each with its stored content and revision', async () => {
    await start();
    const ann = await server.create(
      persons,
      person('ann', { name: 'Änn Ω 漢字 🦊 \u2028 "' }, { labels: { 'a/b': 'c' } }),
    );
    await server.create(persons, person('bob'));
    await server.create('/apis/people.example.com/v1alpha1/namespaces/home/letters', newLetter('l'));
    await server.delete(`${persons}/bob`);
    const answer = await server.get('/export');
    expect(answer.status).to.equal(200);
    expect(answer.headers).to.include({ 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
    const { objects, proved } = ofModels(answer.text);
    expect(objects.map(({ key }) => key)).to.deep.equal([
      '/registry/people.example.com/letters/home/l',
      '/registry/people.example.com/persons/ann',
    ]);
    const stored = JSON.parse(Buffer.from(objects[1]!.data).toString()) as Parameters<typeof apart>[0];
    expect(apart(stored)).to.deep.equal(apart(ann));
    expect(String(objects[1]!.revision)).to.equal(ann.metadata.resourceVersion);
    expect(String(proved.revision)).to.equal(await server.revision(letters));
  });

  it('has all writes that were acknowledged before its start; if it has a later write, it has all writes before that one [slow]', async () => {
    await start();
    for (let at = 0; at < 400; at += 1) {
      const pair = [person(`a-first-${at}`, { age: 0 }), person(`z-second-${at}`, { age: 0 })];
      await Promise.all(pair.map((each) => server.create(persons, each)));
    }
    let stopped = false;
    const ages = new Array<number>(400).fill(0);
    // The writer changes the second object of a pair after the write of the first object is acknowledged. So the age in
    // the second object is equal to the age in the first object, or one lower.
    const writers = [0, 1, 2, 3].map(async (writer) => {
      for (let turn = writer; !stopped; turn += 4) {
        const at = (turn * 17) % 400;
        const age = (ages[at]! + 1) % 151;
        if (age === 0) continue;
        await server.patch(`${persons}/a-first-${at}`, { spec: { age } });
        await server.patch(`${persons}/z-second-${at}`, { spec: { age } });
        ages[at] = age;
      }
    });
    for (let round = 0; round < 8; round += 1) {
      const before = [...ages];
      const { objects, proved } = await exportOf(server);
      const seen = new Map(
        objects.map(({ key, data }) => [
          key.split('/').at(-1)!,
          JSON.parse(Buffer.from(data).toString()).spec.age as number,
        ]),
      );
      expect(seen.size).to.equal(800);
      expect(Math.max(...objects.map((object) => object.revision))).to.be.at.most(proved.revision);
      for (let at = 0; at < 400; at += 1) {
        const [first, second] = [seen.get(`a-first-${at}`)!, seen.get(`z-second-${at}`)!];
        expect(second).to.be.at.least(before[at]!);
        expect(first - second).to.be.oneOf([0, 1]);
      }
    }
    stopped = true;
    await Promise.all(writers);
    expect(ages.some((age) => age > 0)).to.equal(true);
  });

  it('contains the objects that existed at its start, even if the client reads slowly [slow]', async () => {
    await start();
    await fill();
    await server.create(persons, person('zoe', { age: 1 }));
    const answer = await opening();
    await server.patch(`${persons}/zoe`, { spec: { age: 2 } });
    await server.create(persons, person('late'));
    let text = '';
    answer.setEncoding('utf8');
    for await (const piece of answer) text += String(piece);
    const { objects } = ofModels(text);
    expect(objects).to.have.lengthOf(letterCount + 1);
    expect(JSON.parse(Buffer.from(objects.at(-1)!.data).toString()).spec.age).to.equal(1);
  });

  it('runs one at a time: other requests for an export get 429 until it has ended [slow]', async () => {
    await start();
    await fill();
    const first = await opening();
    const refused = await server.get('/export');
    expectRefusal(refused, { reason: 'TooManyRequests', message: 'an export is under way' });
    expect(refused.headers['retry-after']).to.equal('10');
    first.destroy();
    const next = await eventually(async () => {
      const answer = await server.get('/export');
      return answer.status === 200 && answer;
    });
    expect(ofModels(next.text).objects).to.have.lengthOf(letterCount);
    expect((await exportOf(server)).objects).to.have.lengthOf(letterCount);
  });

  it('is cut off when its client does not read for a minute, so that another client can start an export [slow]', async () => {
    const clock = new FakeClock();
    await start({ clock });
    await fill();
    const timers = clock.pendingTimers;
    const answer = await opening();
    // One timer is for the check of the permission, the other one for the wait for the client.
    await eventually(() => clock.pendingTimers > timers + 1);
    expect((await server.get('/export')).status).to.equal(429);
    await clock.advance(60_000);
    await eventually(async () => (await server.get('/export')).status === 200);
    expect(await isWhole(answer)).to.equal(false);
    expect(connectionEnds.at(-1)).to.deep.equal({ stallMs: 60_000 });
  });

  it('does not delay the stop of the server: the stop cuts the export off, and the client can detect this [slow]', async () => {
    await start();
    await fill();
    const answer = await opening();
    await server.stop();
    expect(await isWhole(answer)).to.equal(false);
  });

  it('gets 401 without a token, 405 as a POST, and 403 with an unknown Host', async () => {
    const token = 'correct-horse-battery-staple';
    await start({ token });
    const headers = { authorization: `Bearer ${token}` };
    expectRefusal(await server.get('/export'), { reason: 'Unauthorized' });
    expectRefusal(await server.post('/export', {}, { headers }), { reason: 'MethodNotAllowed' });
    expect((await server.get('/export/', headers)).status).to.equal(200);
    expect((await server.get('/', headers)).body.paths).to.include('/export');
    expect((await server.get('/export', { ...headers, host: 'evil.example.com' })).status).to.equal(403);
  });
});

describe('the export and the import of a database:', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-move-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('an imported database has the same objects, with uid, version and unique values, but no old revisions [slow]', async () => {
    const first = await TestServer.start({ database: `sqlite:${folder}/first.db` });
    const ann = await first.create(persons, person('ann', { slug: 'one' }, { finalizers: ['a.example.com/b'] }));
    await first.patch(`${persons}/ann`, { spec: { age: 3 } });
    await first.create(persons, person('bob', { slug: 'two' }));
    const { body: before } = await first.get(persons);
    const { text } = await first.get('/export');
    await first.stop();
    await writeFile(`${folder}/export.ndjson`, text);
    const database = `sqlite:${folder}/second.db`;
    const proved = await importDatabase({ database, file: `${folder}/export.ndjson` });
    expect(proved).to.include({ objects: read(text).objects.length });
    expect(ofModels(text).objects).to.have.length(2);

    const second = await TestServer.start({ database });
    const { body: after } = await second.get(persons);
    expect(after.items.map(apart)).to.deep.equal(before.items.map(apart));
    // The list begins with ann or bob, depending on whether both were created in the same second. So the test reads ann
    // by name.
    const { body: moved } = await second.get(`${persons}/ann`);
    expect(moved.metadata).to.include({ uid: ann.metadata.uid, version: 2 });
    expect(Number(after.metadata.resourceVersion)).to.be.above(Number(before.metadata.resourceVersion) + 1_000_000);
    const taken = await second.post(persons, person('carl', { slug: 'one' }));
    expect([taken.status, taken.body.details.causes[0].reason]).to.deep.equal([422, 'FieldValueDuplicate']);
    const stale = await second.get(`${persons}?watch=true&resourceVersion=${before.metadata.resourceVersion}`);
    expect(stale.status === 410 || stale.text.includes('"code":410')).to.equal(true);
    const { proved: again } = await exportOf(second);
    expect(again.sha256).to.equal(proved.sha256);
    expect(again.epoch).to.not.equal(proved.epoch);
    await second.stop();
  });

  it('exportDatabase writes the same export as the running server did, except for the time createdAt [slow]', async () => {
    const database = `sqlite:${folder}/itself.db`;
    const server = await TestServer.start({ database });
    await server.create(persons, person('ann'));
    const online = await exportOf(server);
    const locked = await failureOf(everythingOf(database));
    expect(locked).to.include({ name: 'StoreError', code: 'locked' });
    await server.stop();
    const itself = ofModels(await everythingOf(database));
    expect(itself.objects).to.deep.equal(online.objects);
    expect(itself.proved).to.deep.equal({ ...online.proved, createdAt: itself.proved.createdAt });
  });

  it('an export of a missing database and an import of a missing file fail, and create no database', async () => {
    const missing = `${folder}/missing.db`;
    expect(await failureOf(everythingOf(`sqlite:${missing}`))).to.have.property('code', 'ENOENT');
    expect(await failureOf(everythingOf('memory:'))).to.be.instanceOf(RangeError);
    expect(await failureOf(importDatabase({ database: 'memory:', file: missing }))).to.be.instanceOf(RangeError);
    expect(
      await failureOf(importDatabase({ database: `sqlite:${missing}`, file: `${folder}/nothing` })),
    ).to.have.property('code', 'ENOENT');
    expect(await failureOf(everythingOf(`sqlite:${missing}`))).to.have.property('code', 'ENOENT');
  });
});

async function everythingOf(database: string): Promise<string> {
  let text = '';
  for await (const lines of exportDatabase(database)) text += lines;
  return text;
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}
