import { cp, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { defineModel, IndexSpec, isApiError } from '@homeostat/controller-runtime/api';
import type { ApiObject, IndexAttribute, Logger, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import type { Retention } from '../registry/history/compactor.ts';
import { openDatabase } from '../store/sqlite/sqlite-binding.ts';
import { startApiServer } from './api-server.ts';
import type { ApiServer } from './api-server.ts';

const objects = 1200;

/** The number of objects whose values a server computes again at its start, to compare them with the kept values. */
const sample = 1000;

const path = '/apis/things.example.com/v1/things';

type Thing = ApiObject & { readonly spec: { readonly tag: string; readonly code: string } };
type Compute = (thing: Thing) => string;

const text = { type: 'string' } as const;
const plain: ModelDescriptor = defineModel({
  gvk: 'things.example.com/v1/Thing',
  plural: 'things',
  schema: { type: 'object', properties: { spec: { type: 'object', properties: { tag: text, code: text } } } },
  indexes: ['spec.tag'],
});

interface Options {
  readonly definition?: string;
  readonly compute?: Compute;
  readonly retention?: Partial<Retention>;
  /** The resources whose objects are encrypted. */
  readonly encrypted?: readonly string[];
}

function newThing(at: number, tag = `tag-${at % 7}`): ApiObject {
  return { metadata: { name: `thing-${at}` }, spec: { tag, code: `code-${at}` } } as unknown as ApiObject;
}

function keyFile(resources: readonly string[]): string {
  const providers = [{ aesgcm: { keys: [{ name: 'one', secret: Buffer.alloc(32, 'a').toString('base64') }] } }];
  return JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [
      { resources: ['secrets'], providers },
      ...(resources.length === 0 ? [] : [{ resources, providers: [...providers, { identity: {} }] }]),
    ],
  });
}

describe('a server that starts from snapshots', () => {
  let folder: string;
  let server: ApiServer | undefined;
  let reasons: unknown[];
  let warnings: string[];
  let calls: number;

  const database = (name = 'test'): string => join(folder, `${name}.db`);
  const snapshots = (name = 'test'): string => `${database(name)}-snapshots`;

  /** Returns a model with an index that counts the calls of its function, and with a unique index. */
  function thingModel({ definition = 'tag 1', compute = ({ spec }) => spec.tag }: Options): ModelDescriptor {
    const attribute = (name: string, valueOf: Compute): IndexAttribute => ({
      multiValued: false,
      definition: name,
      valuesOf: (thing) => [valueOf(thing as Thing)],
    });
    const counted: Compute = (thing) => {
      calls += 1;
      return compute(thing);
    };
    const indexes = [
      new IndexSpec({ name: 'spec.tag', indexFunc: attribute(definition, counted) }),
      new IndexSpec({ name: 'spec.code', unique: true, indexFunc: attribute('code', ({ spec }) => spec.code) }),
    ];
    return Object.freeze({ ...plain, indexes: Object.freeze(indexes) });
  }

  async function startWithoutKind({ retention = {}, encrypted = [] }: Options): Promise<ApiServer> {
    const note = (fields: { readonly reason?: unknown }, message = ''): void => {
      if (message.startsWith('a snapshot cannot be used')) reasons.push(fields.reason);
    };
    const warn = (_: object, message = ''): void => void warnings.push(message);
    const logger = { debug: note, info: note, warn, error: warn } as unknown as Logger;
    const encryptionConfig = join(folder, 'keys.yaml');
    await writeFile(encryptionConfig, keyFile(encrypted), { mode: 0o600 });
    server = await startApiServer({ database: `sqlite:${database()}`, port: 0, encryptionConfig, logger, retention });
    return server;
  }

  async function start(options: Options = {}): Promise<ApiServer> {
    reasons = [];
    warnings = [];
    calls = 0;
    const started = await startWithoutKind(options);
    const model = thingModel(options);
    started.schemeManager.register(model);
    await started.whenReady(model);
    return started;
  }

  async function stop(): Promise<void> {
    await server?.stop();
    server = undefined;
  }

  function running(): ApiServer {
    if (server === undefined) throw new Error('no server runs');
    return server;
  }

  async function createThings(from: number, to: number): Promise<void> {
    for (let at = from; at < to; at += 200) {
      const numbers = Array.from({ length: Math.min(200, to - at) }, (_, offset) => at + offset);
      await Promise.all(numbers.map((each) => running().client.create(plain, newThing(each))));
    }
  }

  /** Creates five ConfigMaps. */
  async function createMaps(name: string): Promise<void> {
    for (let at = 0; at < 5; at += 1) {
      const response = await fetch(`${running().url}/api/v1/namespaces/default/configmaps`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${name}-${at}` } }),
      });
      expect(response.status).to.equal(201);
    }
  }

  async function inDatabase(sql: string, file = database()): Promise<void> {
    const opened = await openDatabase(file);
    opened.prepare(sql).run();
    opened.close();
  }

  /**
   * Deletes the index values that the database keeps, so that a server that starts without a snapshot must compute
   * them.
   */
  function forgetKept(): Promise<void> {
    return inDatabase('DELETE FROM kept');
  }

  async function snapshotFile(name = 'test'): Promise<string> {
    const [file = ''] = await readdir(snapshots(name));
    return join(snapshots(name), file);
  }

  async function copyDatabase(from: string, to: string): Promise<void> {
    await rm(snapshots(to), { recursive: true, force: true });
    await cp(database(from), database(to));
    await cp(snapshots(from), snapshots(to), { recursive: true });
  }

  async function get(query: string): Promise<{ readonly items: readonly Thing[] }> {
    const response = await fetch(`${running().url}${path}${query}`);
    return (await response.json()) as { readonly items: readonly Thing[] };
  }

  async function namesWith(tag: string): Promise<readonly string[]> {
    return (await get(`?fieldSelector=spec.tag=${tag}`)).items.map(({ metadata }) => metadata.name).sort();
  }

  function expectedNames(isFound: (at: number) => boolean): readonly string[] {
    const all = Array.from({ length: objects }, (_, at) => at);
    return all
      .filter(isFound)
      .map((at) => `thing-${at}`)
      .sort();
  }

  async function expectThings(prefix = ''): Promise<void> {
    expect(await namesWith(`${prefix}tag-3`)).to.deep.equal(expectedNames((at) => at % 7 === 3));
    const { items } = await get('');
    expect(items.map(({ metadata }) => metadata.name).sort()).to.deep.equal(expectedNames(() => true));
    const page = (await get('?sort=metadata.name,desc&page=2&size=3')).items;
    expect(page.map(({ metadata }) => metadata.name)).to.deep.equal(
      expectedNames(() => true)
        .slice(-6, -3)
        .reverse(),
    );
    expect(page.every(({ metadata, spec }) => metadata.name === spec.code.replace('code', 'thing'))).to.equal(true);
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-'));
    await start();
    await createThings(0, objects);
    await stop();
    await copyDatabase('test', 'saved');
  });

  beforeEach(() => copyDatabase('saved', 'test'));

  afterEach(stop);

  after(() => rm(folder, { recursive: true, force: true }));

  it('computes the index values of only a sample of the objects when the database has no kept values', async () => {
    await forgetKept();
    await start();
    expect(reasons).to.deep.equal([]);
    expect(calls).to.equal(sample);
    await expectThings();
  });

  it('knows taken names and unique values, checks resource versions, and has no deleted objects', async () => {
    await start();
    const { client } = running();
    const outcome = (work: Promise<unknown>): Promise<unknown> =>
      work.then(
        () => 'done',
        (error: unknown) => (isApiError(error) ? error.reason : String(error)),
      );
    expect(await outcome(client.create(plain, newThing(5)))).to.equal('AlreadyExists');
    const same = { ...newThing(5000), spec: { tag: 'x', code: 'code-7' } } as unknown as ApiObject;
    expect(await outcome(client.create(plain, same))).to.equal('Invalid');
    const stored = await client.get(plain, 'thing-7');
    await client.update({ ...stored, spec: { tag: 'new', code: 'other' } } as ApiObject);
    expect(await outcome(client.update({ ...stored, spec: { tag: 'late', code: 'x' } } as ApiObject))).to.equal(
      'Conflict',
    );
    expect(await outcome(client.create(plain, same))).to.equal('done');
    await client.delete(plain, 'thing-10');
    expect(await namesWith('tag-3')).to.deep.equal(expectedNames((at) => at % 7 === 3 && at !== 10));
    expect(await namesWith('new')).to.deep.equal(['thing-7']);
    await stop();
    await forgetKept();
    await start();
    expect([reasons, calls], 'the sample, and five former states for watchers').to.deep.equal([[], sample + 5]);
    expect(await namesWith('tag-3')).to.deep.equal(expectedNames((at) => at % 7 === 3 && at !== 10));
    expect(await namesWith('new')).to.deep.equal(['thing-7']);
  });

  /** Makes changes, and leaves the files as if the process had been killed after the changes. */
  async function changeAndKill(): Promise<void> {
    await start();
    await running().client.delete(plain, 'thing-10');
    await running().client.update({
      ...(await running().client.get(plain, 'thing-3')),
      spec: { tag: 'new', code: 'code-3' },
    } as ApiObject);
    await createThings(objects, objects + 3);
    await rm(snapshots('killed'), { recursive: true, force: true });
    await cp(database(), database('killed'));
    await cp(`${database()}-wal`, `${database('killed')}-wal`);
    await cp(snapshots(), snapshots('killed'), { recursive: true });
    await stop();
    await copyDatabase('killed', 'test');
    await cp(`${database('killed')}-wal`, `${database()}-wal`);
  }

  async function expectChanges(): Promise<void> {
    const created = [objects, objects + 1, objects + 2].filter((at) => at % 7 === 3).map((at) => `thing-${at}`);
    const before = expectedNames((at) => at % 7 === 3 && at !== 10 && at !== 3);
    expect(await namesWith('tag-3')).to.deep.equal([...before, ...created].sort());
    expect(await namesWith('new')).to.deep.equal(['thing-3']);
    expect((await get('')).items).to.have.length(objects + 2);
  }

  it('applies the changes that a killed server made after the snapshot [slow]', async () => {
    await changeAndKill();
    await start();
    expect(reasons).to.deep.equal([]);
    await expectChanges();
    await stop();
    await start();
    expect((await get('')).items).to.have.length(objects + 2);
  });

  it('writes files that only their owner can read, but no file for a kind with few objects', async () => {
    expect(await readdir(snapshots())).to.have.length(1);
    if (process.platform === 'win32') return;
    expect((await stat(snapshots())).mode & 0o777).to.equal(0o700);
    expect((await stat(await snapshotFile())).mode & 0o777).to.equal(0o600);
  });

  it('does not write a file again while its kind does not change, even if other kinds change [slow]', async () => {
    const { ino, mtimeMs } = await stat(await snapshotFile());
    for (let round = 0; round < 3; round += 1) {
      await start({ retention: { minChanges: 3 } });
      expect([reasons, calls]).to.deep.equal([[], sample]);
      await createMaps(`map-${round}`);
      await stop();
    }
    const file = await stat(await snapshotFile());
    expect({ ino: file.ino, mtimeMs: file.mtimeMs }).to.deep.equal({ ino, mtimeMs });
    await start();
    expect(reasons).to.deep.equal([]);
    await expectThings();
  });

  it('uses the snapshot of a kind that was unregistered before the server stopped, as when a plugin stops [slow]', async () => {
    const { ino } = await stat(await snapshotFile());
    await start();
    await createThings(objects, objects + 1);
    await running().drain();
    running().schemeManager.unregister(plain, 'service');
    await stop();
    expect((await stat(await snapshotFile())).ino).to.not.equal(ino);
    await forgetKept();
    await start();
    expect([reasons, calls]).to.deep.equal([[], sample]);
    expect((await get('')).items).to.have.length(objects + 1);
  });

  it('keeps the file of an unserved kind as long as a later start may use the file [slow]', async () => {
    await startWithoutKind({});
    await createMaps('map');
    await stop();
    expect(await readdir(snapshots())).to.have.length(1);
    await startWithoutKind({ retention: { minChanges: 2 } });
    await stop();
    expect(await readdir(folder)).to.not.include('test.db-snapshots');
  });

  const damages: Readonly<Record<string, readonly [reason: string, damage: (file: string) => Promise<void>]>> = {
    'a byte of an object is changed': [
      'a checksum of the snapshot is wrong',
      (file) => change(file, (bytes) => flip(bytes, 100)),
    ],
    'a byte of a column is changed': [
      'a checksum of the snapshot is wrong',
      (file) => change(file, (bytes) => flip(bytes, footerStart(bytes) - 40)),
    ],
    'a byte of the footer is changed': [
      'a checksum of the snapshot is wrong',
      (file) => change(file, (bytes) => flip(bytes, footerStart(bytes) + 20)),
    ],
    'its format has another number': [
      'the snapshot is not complete, or has another format',
      (file) => change(file, (bytes) => flip(bytes, bytes.length - 12)),
    ],
    'the length of the footer is wrong': [
      'the snapshot has the wrong length',
      (file) => change(file, (bytes) => void bytes.writeUInt32LE(0xffffffff, bytes.length - 8)),
    ],
    'it is cut off': ['the snapshot is not complete, or has another format', (file) => truncate(file, 5000)],
    'a part in the middle is missing': [
      'the snapshot has the wrong length',
      async (file) => {
        const bytes = await readFile(file);
        await writeFile(file, Buffer.concat([bytes.subarray(0, 1000), bytes.subarray(2000)]));
      },
    ],
    'its names were hashed with another function': [
      'objects in the snapshot cannot be found by the hashes of their names',
      async (file) => {
        const bytes = await readFile(file);
        const from = footerStart(bytes);
        const written = bytes.toString('utf8', from, bytes.length - 12);
        const footer = Buffer.from(written.replace(/"secret":\[.*?\]/, '"secret":[1,2]'));
        const end = Uint32Array.of(bytes.readUInt32LE(bytes.length - 12), footer.length, crc32(footer));
        await writeFile(file, Buffer.concat([bytes.subarray(0, from), footer, Buffer.from(end.buffer)]));
      },
    ],
    'it is empty': ['the snapshot is too short', (file) => truncate(file, 0)],
  };
  for (const [title, [reason, damage]] of Object.entries(damages)) {
    it(`reads the database, and logs the reason, when ${title} [slow]`, async () => {
      await damage(await snapshotFile());
      await start();
      expect(reasons).to.deep.equal([reason]);
      await expectThings();
      await stop();
      await start();
      expect(reasons).to.deep.equal([]);
      await expectThings();
    });
  }

  it('reads the database, and logs the reason, when the file cannot be opened [slow]', async function () {
    if (process.platform === 'win32') this.skipBecause('Windows allows symbolic links to administrators only');
    const file = await snapshotFile();
    await rm(file);
    await symlink(file, file);
    await start();
    expect(reasons).to.have.length(1);
    expect(reasons[0]).to.match(/^ELOOP: .*open/);
    await expectThings();
    await stop();
    await start();
    expect(reasons).to.deep.equal([]);
  });

  it('reads the database when there is no file [slow]', async () => {
    await rm(snapshots(), { recursive: true });
    await start();
    expect(reasons).to.deep.equal([]);
    await expectThings();
  });

  it('does not use a file that belongs to another state of the database, for example after a copy was restored [slow]', async () => {
    await start();
    await running().client.delete(plain, 'thing-10');
    await stop();
    // The database gets an earlier state, and the snapshot stays.
    await cp(database('saved'), database());
    await start();
    expect(reasons).to.deep.equal(['the snapshot belongs to another database, or to another state of this database']);
    await expectThings();
  });

  it('does not use the file of another database [slow]', async () => {
    await rm(database());
    await start();
    expect(reasons).to.deep.equal(['the snapshot belongs to another database, or to another state of this database']);
    expect((await get('')).items).to.deep.equal([]);
    await stop();
    expect(await readdir(folder)).to.not.include('test.db-snapshots');
  });

  it('does not use a snapshot that was written before the database was restored from a backup [slow]', async () => {
    await start();
    const backup = await fetch(`${running().url}/backup`);
    expect(backup.status).to.equal(200);
    const bytes = Buffer.from(await backup.arrayBuffer());
    await stop();
    await writeFile(database(), bytes);
    await start();
    expect(reasons).to.deep.equal(['the snapshot belongs to another database, or to another state of this database']);
    await expectThings();
  });

  it('reads the database when the change log lacks changes that were made after the snapshot [slow]', async () => {
    await startWithoutKind({});
    await createMaps('map');
    await stop();
    await start({ retention: { minChanges: 2 } });
    expect(reasons).to.deep.equal(['the database lacks the changes after the snapshot, or is older than the snapshot']);
    await expectThings();
  });

  it('reads the database when the index function fails for a change after the snapshot [slow]', async () => {
    await changeAndKill();
    let hasFailed = false;
    const compute: Compute = ({ spec }) => {
      if (spec.tag !== 'new' || hasFailed) return spec.tag;
      hasFailed = true;
      throw new Error('not yet');
    };
    await start({ compute });
    expect(reasons).to.deep.equal(['a change after the snapshot cannot be read']);
    await expectChanges();
  });

  it('computes all values when the definition of an index differs [slow]', async () => {
    await start({ definition: 'tag 2', compute: ({ spec }) => `2-${spec.tag}` });
    expect(reasons).to.deep.equal(['the snapshot was written for other indexes, or by another version of the program']);
    await expectThings('2-');
  });

  it('computes the index values of all objects when it checks a sample of objects and finds wrong values in the snapshot [slow]', async () => {
    await start({ compute: ({ spec }) => `other-${spec.tag}` });
    expect(reasons).to.deep.equal(['the snapshot differs from computed values in these indexes: spec.tag']);
    await expectThings('other-');
  });

  it('has no file for a kind whose objects are encrypted, and deletes an older file [slow]', async () => {
    const file = await snapshotFile();
    expect((await readFile(file)).includes('tag-3')).to.equal(true);
    await start({ encrypted: ['things.things.example.com'] });
    expect(await readdir(snapshots())).to.deep.equal([]);
    await expectThings();
    await running().client.delete(plain, 'thing-10');
    await stop();
    expect(await readdir(folder)).to.not.include('test.db-snapshots');
  });

  it('deletes the file of an unserved kind when the objects of the kind are encrypted [slow]', async () => {
    await startWithoutKind({ encrypted: ['things.things.example.com'] });
    const response = await fetch(`${running().url}/reencrypt`, { method: 'POST' });
    expect(await response.text()).to.match(/"done":true/);
    expect(await readdir(snapshots())).to.deep.equal([]);
  });

  it('stops even if it cannot write a snapshot; the next start reads the database [slow]', async () => {
    await rm(snapshots(), { recursive: true });
    await writeFile(snapshots(), '');
    await start();
    await createThings(objects, objects + 1);
    await stop();
    expect(warnings).to.include('a snapshot could not be written; the next start reads the database');
    await rm(snapshots());
    await start();
    expect((await get('')).items).to.have.length(objects + 1);
  });
});

function footerStart(bytes: Buffer): number {
  return bytes.length - 12 - bytes.readUInt32LE(bytes.length - 8);
}

function flip(bytes: Buffer, at: number): void {
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
}

async function change(file: string, damage: (bytes: Buffer) => void): Promise<void> {
  const bytes = await readFile(file);
  damage(bytes);
  await writeFile(file, bytes);
}
