import { systemClock } from '@homeostat/controller-runtime';
import { defineModel, reasonOf } from '@homeostat/controller-runtime/api';
import type { ApiObject, Clock, Logger, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../store/sqlite/sqlite-binding.ts';
import { startApiServer, startOn } from './api-server.ts';
import type { ApiServer } from './api-server.ts';
import { SharedDatabase } from './shared-database.fixture.ts';
import type { ReplicaStore } from './shared-database.fixture.ts';

const spec = { type: 'object', properties: { text: { type: 'string' } } } as const;
const note: ModelDescriptor = defineModel({
  gvk: 'notes.example.com/v1/Note',
  plural: 'notes',
  scope: 'Namespaced',
  subresources: ['status'],
  schema: { type: 'object', properties: { spec, status: { type: 'object', properties: { seen: spec } } } },
  indexes: [{ path: 'spec.text', unique: true }],
});
const notes = '/apis/notes.example.com/v1/namespaces/default/notes';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'boxes.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Cluster',
    names: { plural: 'boxes', kind: 'Box' },
    versions: [{ name: 'v1', served: true, storage: true, schema }],
  },
};
const boxes = '/apis/example.com/v1/boxes';

interface Answer {
  readonly status: number;
  readonly warning: string | null;
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of a request or response
  readonly body: any;
}

function newNote(name: string, fields: object = {}, metadata: object = {}): object {
  return {
    apiVersion: 'notes.example.com/v1',
    kind: 'Note',
    metadata: { name, ...metadata },
    spec: { text: name },
    ...fields,
  };
}

function keyOf(name: string): string {
  return `/registry/notes.example.com/notes/default/${name}`;
}

describe('a stored object that cannot be read', () => {
  let folder: string;
  let server: ApiServer;
  /** The clock for the servers that a test starts. */
  let clock: Clock;
  let logged: { readonly level: string; readonly fields: Readonly<Record<string, unknown>> }[];

  async function begin(): Promise<void> {
    clock = systemClock;
    folder = await mkdtemp(join(tmpdir(), 'homeostat-'));
    await start();
  }

  async function end(): Promise<void> {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }

  const file = (): string => join(folder, 'test.db');

  async function start(): Promise<void> {
    logged = [];
    const log =
      (level: string) =>
      (fields: object): void =>
        void logged.push({ level, fields: fields as Readonly<Record<string, unknown>> });
    const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
    server = await startApiServer({ database: `sqlite:${file()}`, port: 0, logger, clock });
    server.schemeManager.register(note);
    await server.whenReady(note);
  }

  /** Stops the server, changes stored objects, and starts it again. */
  async function restartWith(changes: Readonly<Record<string, (data: string) => string | Uint8Array>>): Promise<void> {
    await server.stop();
    const database = await openDatabase(file());
    for (const [key, change] of Object.entries(changes)) {
      const { data } = database.prepare('SELECT data FROM history WHERE key = ? ORDER BY revision DESC').get(key) as {
        readonly data: Uint8Array;
      };
      const next = change(Buffer.from(data).toString());
      database.prepare('UPDATE history SET data = ? WHERE key = ?').run(Buffer.from(next), key);
    }
    database.close();
    await start();
  }

  async function call(method: string, path: string, body?: object, type = 'application/json'): Promise<Answer> {
    const init = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': type } };
    const response = await fetch(`${server.url}${path}`, { method, ...init });
    return { status: response.status, warning: response.headers.get('warning'), body: await response.json() };
  }

  async function broken(): Promise<string | undefined> {
    const response = await fetch(`${server.url}/metrics`);
    return /^homeostat_broken_objects\{resource="notes.notes.example.com"\} (\d+)$/m.exec(await response.text())?.[1];
  }

  async function listed(): Promise<readonly string[]> {
    const { status, body } = await call('GET', `${notes}?sort=metadata.name,asc`);
    expect(status).to.equal(200);
    const { items } = body as { readonly items: readonly { readonly metadata: { readonly name: string } }[] };
    return items.map(({ metadata }) => metadata.name);
  }

  const cut = (data: string): string => data.slice(0, -5);

  const breakages: Readonly<Record<string, (data: string) => string | Uint8Array>> = {
    'cut off': cut,
    'cut off within its metadata': (data) => data.slice(0, 60),
    empty: () => '',
    'not text': () => Uint8Array.from({ length: 400 }, (_, at) => (at * 37) % 256),
    'another version, and cut off': (data) => cut(data.replace('notes.example.com/v1', 'notes.example.com/v0')),
    'a list': () => '[]',
    null: () => 'null',
    'an object without metadata': () => '{"apiVersion":"notes.example.com/v1","kind":"Note"}',
    'metadata of the wrong type': (data) => data.replace(/"metadata":\{.*?\}/, '"metadata":{"name":7}'),
    'owners of the wrong type': (data) => data.replace('"metadata":{', '"metadata":{"ownerReferences":7,'),
    'the name of another object': (data) => data.replace('"name":"one"', '"name":"two"'),
    'the namespace of another object': (data) => data.replace('"namespace":"default"', '"namespace":"other"'),
  };

  describe('with damaged data', () => {
    // The tests can share one server: each test restarts it, and `afterEach` deletes the objects of the test.
    before(begin);
    afterEach(async () => {
      for (const name of ['one', 'two']) expect((await call('DELETE', `${notes}/${name}`)).status).to.equal(200);
    });
    after(end);

    for (const [at, [what, change]] of Object.entries(breakages).entries()) {
      const tier = at === 0 ? '' : ' [slow]';
      it(`causes a 500 until a PUT replaces it, while the other objects of its kind are served: ${what}${tier}`, async () => {
        for (const name of ['one', 'two']) await call('POST', notes, newNote(name));
        await restartWith({ [keyOf('one')]: change });
        expect(logged.filter(({ level }) => level === 'error').map(({ fields }) => fields['key'])).to.deep.equal([
          keyOf('one'),
        ]);
        expect(await broken()).to.equal('1');
        expect(await listed()).to.deep.equal(['two']);
        expect((await call('GET', notes)).warning).to.include(
          'unreadable objects of notes.notes.example.com are not listed (1): \\"default/one\\"',
        );

        const read = await call('GET', `${notes}/one`);
        expect(read.status).to.equal(500);
        expect(read.body).to.include({ kind: 'Status', reason: 'InternalError' });
        expect(read.body.message).to.match(
          /^notes\.notes\.example\.com "one" cannot be read: .*; replace it by PUT, or delete it$/,
        );
        expect(logged.at(-1)).to.have.nested.property('fields.key', keyOf('one'));
        const merge = 'application/merge-patch+json';
        expect((await call('PATCH', `${notes}/one`, { spec: { text: 'x' } }, merge)).status).to.equal(500);
        const apply = `${notes}/one?fieldManager=test&force=true`;
        expect((await call('PATCH', apply, newNote('one'), 'application/apply-patch+yaml')).status).to.equal(500);
        expect((await call('PUT', `${notes}/one/status`, newNote('one'))).status).to.equal(500);
        expect((await call('POST', notes, newNote('one'))).status).to.equal(409);
        expect((await call('PATCH', `${notes}/two`, { spec: { text: 'x' } }, merge)).status).to.equal(200);

        const replaced = await call('PUT', `${notes}/one`, newNote('one'));
        expect(replaced.status, JSON.stringify(replaced.body)).to.equal(200);
        expect(await broken()).to.equal('0');
        expect(await listed()).to.deep.equal(['one', 'two']);
        await restartWith({});
        expect((await call('GET', `${notes}/one`)).body).to.deep.equal(replaced.body);
        expect(logged.filter(({ level }) => level === 'error')).to.deep.equal([]);
      });
    }
  });

  describe('after a restart', () => {
    beforeEach(begin);
    afterEach(end);

    it('can be deleted [slow]', async () => {
      await call('POST', notes, newNote('one', {}, { finalizers: ['example.com/wait'] }));
      await restartWith({ [keyOf('one')]: cut });
      expect((await call('DELETE', `${notes}/one?propagationPolicy=Foreground`)).status).to.equal(200);
      expect((await call('GET', `${notes}/one`)).status).to.equal(404);
      expect(await broken()).to.equal('0');
      await restartWith({});
      expect((await call('GET', `${notes}/one`)).status).to.equal(404);
      expect((await call('POST', notes, newNote('one'))).status).to.equal(201);
    });

    it('keeps its uid when it is replaced, or gets the uid of the request if its own uid cannot be read [slow]', async () => {
      const one = (await call('POST', notes, newNote('one'))).body;
      const two = (await call('POST', notes, newNote('two'))).body;
      await restartWith({ [keyOf('one')]: cut, [keyOf('two')]: () => '' });
      const { uid, resourceVersion } = one.metadata;
      const path = `${notes}/one`;
      expect((await call('PUT', path, newNote('one', {}, { uid: two.metadata.uid }))).status).to.equal(409);
      expect((await call('PUT', path, newNote('one', {}, { resourceVersion: '1' }))).status).to.equal(409);
      expect((await call('PUT', path, newNote('two'))).status).to.equal(400);
      expect((await call('PUT', path, newNote('one', { spec: { text: 7 } }))).status).to.equal(422);
      const dry = await call('PUT', `${path}?dryRun=All`, newNote('one'));
      expect(dry.status).to.equal(200);
      expect((await call('GET', path)).status).to.equal(500);
      const replaced = await call('PUT', path, newNote('one', {}, { resourceVersion }));
      expect(replaced.body.metadata.uid).to.equal(uid);
      const whole = await call('PUT', `${notes}/two`, two as object);
      expect(whole.status, JSON.stringify(whole.body)).to.equal(200);
      expect(whole.body.metadata.uid).to.equal(two.metadata.uid);
    });

    it('is reported to watches as ADDED when it is replaced, and as DELETED when it is deleted [slow]', async () => {
      await call('POST', notes, newNote('one'));
      await call('POST', notes, newNote('two'));
      const { resourceVersion } = (await call('GET', notes)).body.metadata;
      await restartWith({ [keyOf('one')]: cut, [keyOf('two')]: cut });
      await call('PUT', `${notes}/one`, newNote('one', { spec: { text: 'new' } }));
      await call('DELETE', `${notes}/two`);
      const expectEvents = async (selector: string): Promise<void> => {
        const query = `watch=true&timeoutSeconds=1&resourceVersion=${resourceVersion}${selector}`;
        const response = await fetch(`${server.url}${notes}?${query}`);
        const events = (await response.text())
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line));
        expect(events.map(({ type, object }) => `${type} ${object.metadata.name}`)).to.deep.equal([
          'ADDED one',
          'DELETED two',
        ]);
      };
      const selectors = ['', '&labelSelector=!x', '&fieldSelector=spec.text=new,metadata.name!=two'];
      await Promise.all(selectors.map(expectEvents));
    });

    it('keeps its dependents, also when a client replaces the object; the deletion of the object deletes them [slow]', async () => {
      const refs = async (owner: string): Promise<object> => {
        const { uid } = (await call('POST', notes, newNote(owner))).body.metadata;
        return { ownerReferences: [{ apiVersion: 'notes.example.com/v1', kind: 'Note', name: owner, uid }] };
      };
      for (const owner of ['one', 'two', 'three'])
        await call('POST', notes, newNote(`of-${owner}`, {}, await refs(owner)));
      await restartWith({ [keyOf('one')]: cut, [keyOf('two')]: () => '', [keyOf('three')]: cut });
      await eventually(() => server.isIdle());
      expect(await listed()).to.deep.equal(['of-one', 'of-three', 'of-two']);
      await call('PUT', `${notes}/one`, newNote('one'));
      await call('DELETE', `${notes}/two`);
      await call('DELETE', `${notes}/three`);
      await eventually(async () => (await listed()).length === 2);
      await eventually(() => server.isIdle());
      expect(await listed()).to.deep.equal(['of-one', 'one']);
    });

    it('if it is a namespace, keeps its objects and refuses new ones; its deletion deletes its objects, too [slow]', async () => {
      const namespaces = '/api/v1/namespaces';
      const inShop = notes.replace('default', 'shop');
      await call('POST', namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
      for (const name of ['one', 'two']) await call('POST', inShop, newNote(name));
      const time = new FakeClock();
      clock = time;
      await restartWith({
        '/registry//namespaces/shop': cut,
        [keyOf('two').replace('default', 'shop')]: cut,
      });
      expect((await call('POST', inShop, newNote('three'))).status).to.equal(500);
      await eventually(() => server.isIdle());
      expect((await call('GET', inShop)).body.items).to.have.length(1);
      expect((await call('DELETE', `${namespaces}/shop`)).status).to.equal(200);
      await time.advance(5_000);
      await eventually(async () => (await call('GET', `${namespaces}/shop`)).status === 404);
      expect((await call('GET', `${inShop}/one`)).status).to.equal(404);
      expect((await call('GET', `${inShop}/two`)).status).to.equal(404);
    });

    it('if it is a CustomResourceDefinition, causes a 503 for the kind that it defines, until a PUT replaces the definition', async () => {
      await call('POST', definitions, definition);
      await eventually(async () => (await call('GET', boxes)).status === 200);
      await call('POST', boxes, { apiVersion: 'example.com/v1', kind: 'Box', metadata: { name: 'one' } });
      await restartWith({ '/registry/apiextensions.k8s.io/customresourcedefinitions/boxes.example.com': cut });
      const absent = await call('GET', `${boxes}/one`);
      expect(absent.status).to.equal(503);
      expect(absent.body.message).to.include('CustomResourceDefinition "boxes.example.com" cannot be read');
      expect((await call('PUT', `${definitions}/boxes.example.com`, definition)).status).to.equal(200);
      await eventually(async () => (await call('GET', `${boxes}/one`)).status === 200);
    });

    it('is deleted together with the definition of its kind', async () => {
      await call('POST', definitions, definition);
      await eventually(async () => (await call('GET', boxes)).status === 200);
      await call('POST', boxes, { apiVersion: 'example.com/v1', kind: 'Box', metadata: { name: 'one' } });
      await restartWith({ '/registry/example.com/boxes/one': cut });
      await call('DELETE', `${definitions}/boxes.example.com`);
      await eventually(async () => (await call('GET', `${definitions}/boxes.example.com`)).status === 404);
      expect((await call('GET', boxes)).status).to.equal(404);
      await call('POST', definitions, definition);
      await eventually(async () => (await call('GET', boxes)).status === 200);
      expect((await call('GET', `${boxes}/one`)).status).to.equal(404);
    });

    it('is exported as it is stored [slow]', async () => {
      await call('POST', notes, newNote('one'));
      await restartWith({ [keyOf('one')]: cut });
      const response = await fetch(`${server.url}/export`);
      expect(await response.text()).to.include(`"key":"${keyOf('one')}"`);
    });
  });
});

describe('an unreadable change of another replica', () => {
  let database: SharedDatabase;
  let replicas: readonly ApiServer[];
  let writer: ReplicaStore;

  beforeEach(async () => {
    database = new SharedDatabase();
    writer = database.replica();
    replicas = [await startOn(database.replica(), { port: 0 }), await startOn(database.replica(), { port: 0 })];
    for (const { schemeManager } of replicas) schemeManager.register(note);
    for (const replica of replicas) await replica.whenReady(note);
  });

  afterEach(async () => {
    await Promise.all(replicas.map(async (replica) => replica.stop()));
    await database.close();
  });

  const reasonAt = async ({ client }: ApiServer, name: string): Promise<unknown> =>
    client.get(note, name, { namespace: 'default' }).then(
      () => 'none',
      (error: unknown) => reasonOf(error),
    );
  const namesAt = async ({ client }: ApiServer): Promise<readonly string[]> =>
    (await client.list(note)).items.map(({ metadata }) => metadata.name).sort();

  it('makes only the changed object unreadable, at every replica, until a replica replaces or deletes the object', async () => {
    const [a, b] = replicas as [ApiServer, ApiServer];
    for (const name of ['one', 'two', 'three'])
      await a.client.create(note, newNote(name, {}, { namespace: 'default' }) as ApiObject);
    const kind = await writer.numberOf('kind:notes.example.com/notes');
    const data = Buffer.from('{"apiVersion":"notes.example.com/v1",');
    const { generation } = await writer.claims(kind);
    for (const name of ['one', 'two']) {
      const { metadata } = await a.client.get(note, name, { namespace: 'default' });
      const stored = Number(metadata.resourceVersion);
      await writer.commit([{ op: 'update', key: keyOf(name), kind, expect: stored, data, generation }]);
    }
    for (const replica of replicas) {
      expect([await reasonAt(replica, 'one'), await reasonAt(replica, 'two')]).to.deep.equal([
        'InternalError',
        'InternalError',
      ]);
      expect(await namesAt(replica)).to.deep.equal(['three']);
    }
    await b.client.update(newNote('one', {}, { namespace: 'default' }) as ApiObject);
    await a.client.delete(note, 'two', { namespace: 'default' });
    for (const replica of replicas) {
      expect(await namesAt(replica)).to.deep.equal(['one', 'three']);
      expect(await reasonAt(replica, 'two')).to.equal('NotFound');
    }
  });
});
