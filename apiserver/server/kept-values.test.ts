import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@homeostat/controller-runtime';
import { defineModel, IndexSpec } from '@homeostat/controller-runtime/api';
import type { ApiObject, Clock, IndexAttribute, Logger, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { maxPartEntries } from '../registry/kept/kept-part.ts';
import { openDatabase } from '../store/sqlite/sqlite-binding.ts';
import { startApiServer } from './api-server.ts';
import type { ApiServer } from './api-server.ts';

const things = '/apis/things.example.com/v1/things';
const objects = 1500;

/** The number of objects whose values a server computes again at its start, to compare them with the kept values. */
const sample = 1000;

type Thing = ApiObject & { readonly spec: { readonly tag: string } };
type Compute = (thing: Thing) => string;

const plain: ModelDescriptor = defineModel({
  gvk: 'things.example.com/v1/Thing',
  plural: 'things',
  schema: { type: 'object', properties: { spec: { type: 'object', properties: { tag: { type: 'string' } } } } },
  indexes: ['spec.tag'],
});

/** Returns a kind with an index function whose calls are counted. */
function thingModel({ definition, compute }: { definition?: string; compute: Compute }): ModelDescriptor {
  const indexFunc: IndexAttribute = {
    multiValued: false,
    valuesOf: (thing) => [compute(thing as Thing)],
    ...(definition !== undefined && { definition }),
  };
  return Object.freeze({ ...plain, indexes: Object.freeze([new IndexSpec({ name: 'spec.tag', indexFunc })]) });
}

interface LogLine {
  readonly level: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

function tagOf({ spec: { tag } }: Thing): string {
  return tag;
}

function newThing(at: number, tag = `tag-${at % 7}`): ApiObject {
  return { metadata: { name: `thing-${at}` }, spec: { tag } } as unknown as ApiObject;
}

function keyFile(resources: readonly string[]): string {
  const keys = [{ name: 'one', secret: Buffer.alloc(32, 'a').toString('base64') }];
  return JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [
      { resources: ['secrets'], providers: [{ aesgcm: { keys } }] },
      ...(resources.length === 0 ? [] : [{ resources, providers: [{ aesgcm: { keys } }, { identity: {} }] }]),
    ],
  });
}

describe('index values that are kept for the next start', () => {
  let folder: string;
  let server: ApiServer | undefined;
  let logged: LogLine[];
  let calls: number;
  let clock: Clock;

  const path = (name = 'test'): string => join(folder, `${name}.db`);

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-'));
    await writeFile(join(folder, 'keys.yaml'), keyFile([]), { mode: 0o600 });
    reset();
    await start();
    await createThings(0, objects);
    await stop();
    expect(calls, 'there is no sample, because no values were kept').to.equal(objects);
    await copyFile(path(), path('saved'));
  });

  beforeEach(async () => {
    reset();
    await copyFile(path('saved'), path());
    await writeFile(join(folder, 'keys.yaml'), keyFile([]), { mode: 0o600 });
  });

  afterEach(stop);

  after(() => rm(folder, { recursive: true, force: true }));

  function reset(): void {
    logged = [];
    calls = 0;
    clock = systemClock;
  }

  async function start({
    definition = 'tag 1',
    compute = tagOf,
  }: { definition?: string; compute?: Compute } = {}): Promise<void> {
    await startWith({ definition, compute });
  }

  async function startWithoutKind(): Promise<void> {
    const log =
      (level: string) =>
      (fields: object, message = ''): void =>
        void logged.push({ level, fields: { ...fields }, message });
    const logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') } as Logger;
    const encryptionConfig = join(folder, 'keys.yaml');
    // A server that starts after a kill has no snapshots, only the values that are kept in the database.
    await rm(`${path()}-snapshots`, { recursive: true, force: true });
    server = await startApiServer({ database: `sqlite:${path()}`, port: 0, encryptionConfig, logger, clock });
  }

  async function startWith({ compute, ...options }: { definition?: string; compute: Compute }): Promise<void> {
    await startWithoutKind();
    const counted: Compute = (thing) => {
      calls += 1;
      return compute(thing);
    };
    const model = thingModel({ ...options, compute: counted });
    running().schemeManager.register(model);
    await running().whenReady(model);
  }

  async function stop(): Promise<void> {
    await server?.stop();
    server = undefined;
  }

  async function createThings(from: number, to: number): Promise<void> {
    for (let at = from; at < to; at += 250) {
      const names = Array.from({ length: Math.min(250, to - at) }, (_, offset) => at + offset);
      await Promise.all(names.map((each) => running().client.create(plain, newThing(each))));
    }
  }

  function running(): ApiServer {
    if (server === undefined) throw new Error('no server runs');
    return server;
  }

  async function namesWith(tag: string): Promise<readonly string[]> {
    const response = await fetch(`${running().url}${things}?fieldSelector=spec.tag=${tag}`);
    const { items } = (await response.json()) as { readonly items: readonly ApiObject[] };
    return items.map(({ metadata }) => metadata.name).sort();
  }

  function expectedNames(isFound: (at: number) => boolean): readonly string[] {
    const all = Array.from({ length: objects }, (_, at) => at);
    return all
      .filter(isFound)
      .map((at) => `thing-${at}`)
      .sort();
  }

  function reasons(): readonly unknown[] {
    return logged
      .filter(({ message }) => message === 'kept index values cannot be used; they are computed again')
      .map(({ fields }) => fields['reason']);
  }

  async function inDatabase<R>(
    work: (database: Awaited<ReturnType<typeof openDatabase>>) => R,
    file: string = path(),
  ): Promise<R> {
    const database = await openDatabase(file);
    try {
      return work(database);
    } finally {
      database.close();
    }
  }

  async function keptBytes(file?: string): Promise<readonly Buffer[]> {
    const select = 'SELECT data FROM kept';
    const rows = await inDatabase((database) => database.prepare<{ readonly data: Uint8Array }>(select).all(), file);
    return rows.map(({ data }) => Buffer.from(data));
  }

  it('are not computed again, except for a sample', async () => {
    await start();
    expect(calls).to.equal(sample);
    expect(reasons()).to.deep.equal([]);
    expect(await namesWith('tag-3')).to.deep.equal(expectedNames((at) => at % 7 === 3));
  });

  it('are correct after objects have changed: the next start computes the values of the changed objects', async () => {
    await start();
    calls = 0;
    await running().client.update({
      ...(await running().client.get(plain, 'thing-3')),
      spec: { tag: 'new' },
    } as ApiObject);
    await running().client.delete(plain, 'thing-10');
    await stop();
    calls = 0;
    await start();
    expect(calls, 'the sample, one object, and five former states for watchers').to.equal(sample + 1 + 5);
    expect(await namesWith('tag-3')).to.deep.equal(expectedNames((at) => at % 7 === 3 && at !== 3 && at !== 10));
    expect(await namesWith('new')).to.deep.equal(['thing-3']);
  });

  it('are saved by a running server after 10,000 changes [slow]', async () => {
    const fake = new FakeClock();
    clock = fake;
    await start();
    await createThings(objects, objects + 10_000);
    await fake.advance(30_000);
    // The copy has the files that a killed process would leave behind. The original cannot be opened, because the
    // server has locked it.
    const copy = path('killed');
    await eventually(async () => {
      await copyFile(path(), copy);
      await copyFile(`${path()}-wal`, `${copy}-wal`);
      return (await keptBytes(copy)).length > 10_000 / maxPartEntries;
    });
  });

  it('are saved when their kind is unregistered, as when a plugin stops [slow]', async () => {
    await start({ definition: 'tag 3' });
    expect(calls).to.equal(objects);
    running().schemeManager.unregister(plain, 'service');
    await stop();
    expect(await keptBytes()).to.have.length(Math.ceil(objects / maxPartEntries));
    calls = 0;
    await start({ definition: 'tag 3' });
    expect(calls).to.equal(sample);
  });

  it('are all computed again when the definition of an index differs [slow]', async () => {
    await start({ definition: 'tag 2', compute: (thing) => `2-${tagOf(thing)}` });
    expect(calls).to.equal(objects);
    expect(reasons()).to.deep.equal([
      'the values were written for other indexes, or by another version of the program',
    ]);
    expect(await namesWith('2-tag-3')).to.deep.equal(expectedNames((at) => at % 7 === 3));
    await stop();
    expect(await keptBytes()).to.have.length(Math.ceil(objects / maxPartEntries));
  });

  const damages: Readonly<Record<string, (data: Buffer) => Buffer>> = {
    'the checksum of the stored bytes is wrong': (data) => {
      data.writeUInt8(data.readUInt8(data.length - 5) ^ 1, data.length - 5);
      return data;
    },
    'the stored bytes have the wrong length': (data) => data.subarray(0, data.length / 2),
    'the stored bytes have another format': (data) => {
      data.writeUInt32LE(0x6b657001);
      return data;
    },
    'the stored bytes are too short': () => Buffer.alloc(3),
  };
  for (const [reason, damage] of Object.entries(damages)) {
    it(`are all computed again when ${reason} [slow]`, async () => {
      await inDatabase((database) => {
        const rows = database
          .prepare<{ readonly last: number; readonly data: Uint8Array }>('SELECT last, data FROM kept')
          .all();
        for (const { last, data } of rows)
          database.prepare('UPDATE kept SET data = ? WHERE last = ?').run(damage(Buffer.from(data)), last);
      });
      await start();
      expect(reasons()).to.deep.equal([reason]);
      expect(calls).to.equal(objects);
      expect(await namesWith('tag-3')).to.deep.equal(expectedNames((at) => at % 7 === 3));
    });
  }

  it('are not used for an object whose bytes were changed or damaged [slow]', async () => {
    await inDatabase((database) => {
      const find = database.prepare<{ readonly data: Uint8Array }>('SELECT data FROM history WHERE key = ?');
      const set = database.prepare('UPDATE history SET data = ? WHERE key = ?');
      const key = (at: number): string => `/registry/things.example.com/things/thing-${at}`;
      const text = Buffer.from(find.get(key(3))?.data ?? []).toString();
      set.run(Buffer.from(text.replace('"tag":"tag-3"', '"tag":"other"')), key(3));
      set.run(Buffer.from(text.slice(0, -9)), key(10));
    });
    await start();
    expect(await namesWith('other')).to.deep.equal(['thing-3']);
    expect(await namesWith('tag-3')).to.deep.equal(expectedNames((at) => at % 7 === 3 && at > 10));
    expect((await fetch(`${running().url}${things}/thing-10`)).status).to.equal(500);
  });

  it('are all computed again when a start computes other values for a sample of objects; the log names the index [slow]', async () => {
    await start({ compute: (thing) => `other-${tagOf(thing)}` });
    expect(calls).to.equal(sample + objects);
    const [error, ...others] = logged.filter(({ level }) => level === 'error');
    expect(others).to.deep.equal([]);
    expect(error?.fields).to.deep.equal({
      kind: 'Thing',
      group: 'things.example.com',
      owner: 'service',
      indexes: ['spec.tag'],
    });
    expect(error?.message).to.match(/^an index does not return the same values for the same object/);
    expect(await namesWith('other-tag-3')).to.deep.equal(expectedNames((at) => at % 7 === 3));
    expect(await namesWith('tag-3')).to.deep.equal([]);
  });

  it('are not kept if the index function has no `definition`; a start then computes the values of a sample of objects twice, and logs an error if the two results differ [slow]', async () => {
    await start();
    await stop();
    logged = [];
    await startWith({ compute: (thing) => `${tagOf(thing)}-${calls % 2}` });
    expect(logged.filter(({ level }) => level === 'error').map(({ fields }) => fields['indexes'])).to.deep.equal([
      ['spec.tag'],
    ]);
    await stop();
    logged = [];
    calls = 0;
    await startWith({ compute: tagOf });
    expect(calls).to.equal(objects + sample);
    expect(logged.filter(({ level }) => level === 'error')).to.deep.equal([]);
  });

  it('are deleted when the objects of a kind that is not served are encrypted [slow]', async () => {
    await writeFile(join(folder, 'keys.yaml'), keyFile(['things.things.example.com']), { mode: 0o600 });
    await startWithoutKind();
    const response = await fetch(`${running().url}/reencrypt`, { method: 'POST' });
    expect(await response.text()).to.match(/"rewritten":1500,.*"done":true/);
    await stop();
    expect(await keptBytes()).to.deep.equal([]);
    await start();
    expect(await namesWith('tag-3')).to.deep.equal(expectedNames((at) => at % 7 === 3));
  });

  it('are encrypted if their objects are encrypted [slow]', async () => {
    expect(Buffer.concat([...(await keptBytes())]).includes('tag-3')).to.equal(true);
    await writeFile(join(folder, 'keys.yaml'), keyFile(['things.things.example.com']), { mode: 0o600 });
    await start();
    expect(reasons()).to.deep.equal(['the encryption of the values differs from the configuration']);
    await stop();
    const [sealed = Buffer.alloc(0)] = await keptBytes();
    expect(sealed.toString('latin1')).to.match(/^k8s:enc:aesgcm:v1:one:/);
    expect(sealed.includes('tag-3')).to.equal(false);
    calls = 0;
    await start();
    expect(calls).to.equal(sample);
    expect(await namesWith('tag-3')).to.deep.equal(expectedNames((at) => at % 7 === 3));
    await stop();
    await inDatabase((database) => database.prepare('UPDATE kept SET last = last - 1').run());
    await start();
    expect(reasons().at(-1)).to.match(/^the stored bytes cannot be decrypted with key "one"/);
  });
});
