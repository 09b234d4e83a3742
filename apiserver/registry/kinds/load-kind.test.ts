import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@homeostat/controller-runtime';
import { defaultIndexes, defineModel, silentLogger } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { array, assert, asyncProperty, constantFrom, integer, oneof, record } from 'fast-check';
import { KindCache } from '../../index/kind-cache.ts';
import type { Entry } from '../../index/entry.ts';
import type { SortedIndex } from '../../index/sorted-index.ts';
import { createSqliteStore } from '../../store/sqlite/sqlite-store.ts';
import type { Change, Operation, SnapshotStore, Store } from '../../store/store.ts';
import { encodeObject } from '../object/object-codec.ts';
import { SnapshotKeeper } from '../kept/snapshot-keeper.ts';
import { ValueKeeper } from '../kept/value-keeper.ts';
import type { LoadMemory } from './does-not-fit.ts';
import { loadKind } from './load-kind.ts';
import { readKind } from './read-kind.ts';
import { storedEntry } from './stored-entry.ts';
import type { KindReader } from './stored-entry.ts';

const text = { type: 'string' } as const;
const properties = { city: text, age: { type: 'integer' }, tags: { type: 'array', items: text } } as const;
const model: ModelDescriptor = defineModel({
  gvk: 'people.example.com/v1/Person',
  plural: 'persons',
  scope: 'Namespaced',
  schema: { type: 'object', properties: { spec: { type: 'object', properties } } },
  indexes: ['spec.city', 'spec.age', 'spec.tags'],
});

const write = record({
  step: constantFrom('write'),
  name: integer({ min: 0, max: 30 }),
  city: constantFrom('Bern', 'Zürich', '東京', '😀', '', undefined),
  age: integer({ min: -3, max: 3 }),
  tags: array(constantFrom('a', 'é', '\ud7ff', '😀'), { maxLength: 3 }),
  length: constantFrom(0, 0, 1, 3, 5000, 150_000),
  isOwned: constantFrom(true, false),
});
const other = record({ step: constantFrom('remove', 'stop', 'stop', 'kill', 'query') });
const steps = array(oneof({ weight: 3, arbitrary: write }, { weight: 2, arbitrary: other }), {
  minLength: 5,
  maxLength: 30,
});

const unlimited: LoadMemory = {
  begin: () => undefined,
  end: () => undefined,
  excess: () => undefined,
  needOf: () => '',
  collect: () => full,
};
const full = { heap: 1, heapLimit: 1, resident: 1, residentLimit: 1 };

function emptyReader(): KindReader {
  return { cache: new KindCache(model, [...defaultIndexes(), ...model.indexes]), convertStored: (stored) => stored };
}

/** One kind in a server whose database is a file. */
class Served {
  readonly #path: string;
  readonly #changes: Change[] = [];
  #store: Store;
  #reader = emptyReader();
  #snapshots: SnapshotKeeper;
  #kindNumber = 0;
  #revision = 0;
  #lastOfKind = 0;
  /** The number of objects that were read from snapshots. */
  restored = 0;

  constructor(path: string) {
    this.#path = path;
    this.#store = createSqliteStore({ path });
    this.#snapshots = this.#createKeeper();
  }

  async open(memory = unlimited): Promise<void> {
    this.#store = createSqliteStore({ path: this.#path });
    this.#revision = (await this.#store.open()).revision;
    this.#kindNumber = await this.#store.numberOf('kind:people.example.com/persons');
    this.#reader = emptyReader();
    this.#snapshots = this.#createKeeper();
    let restored = 0;
    const parts = {
      store: this.#store,
      kindNumber: this.#kindNumber,
      memory,
      onProgress: (read: number) => (restored = read),
      keeper: new ValueKeeper({
        store: undefined,
        clock: systemClock,
        logger: silentLogger,
        program: 'test',
        served: () => [],
        revision: () => this.#revision,
      }),
      snapshots: this.#snapshots,
      random: () => 0.5,
      onVarying: (indexes: readonly string[]) => expect(indexes).to.deep.equal([]),
      current: this.#revision,
      changes: this.#changes,
    };
    const scan = this.#store.scan.bind(this.#store);
    let scans = 0;
    this.#store.scan = (kind) => {
      scans += 1;
      return scan(kind);
    };
    await loadKind(this.#reader, parts);
    if (scans === 0) this.restored += restored;
    const fresh = emptyReader();
    fresh.cache.load(await readKind(fresh, { ...parts, memory: unlimited }));
    expect(contentOf(this.#reader.cache)).to.deep.equal(contentOf(fresh.cache));
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  async stop(): Promise<void> {
    const { cache } = this.#reader;
    const kind = { kindNumber: this.#kindNumber, cache, feed: { revision: this.#lastOfKind } };
    await this.#snapshots.save(kind, { revision: this.#revision, kept: undefined });
    await this.#snapshots.clean();
    await this.close();
  }

  /** Builds the indexes that are otherwise built on demand. */
  query(): void {
    const { cache } = this.#reader;
    for (const index of cache.indexes) for (const part of partsOf(index)) part();
  }

  async write({ name, city, age, tags, length, isOwned }: Written): Promise<void> {
    const owner = { apiVersion: 'v1', kind: 'A', name: 'a', uid: `owner-${age}` };
    const metadata = {
      name: `p-${name}`,
      namespace: `n-${name % 2}`,
      uid: `uid-${name}`,
      labels: { tier: `${age}` },
      ...(isOwned && { ownerReferences: [owner] }),
    };
    const spec = { ...(city !== undefined && { city }), age, tags, note: 'x'.repeat(length) };
    const object = { apiVersion: 'people.example.com/v1', kind: 'Person', metadata, spec } as unknown as ApiObject;
    await this.#commit(`${metadata.namespace}/${metadata.name}`, encodeObject(object));
  }

  async remove(): Promise<void> {
    const [first] = this.#reader.cache.entries();
    if (first !== undefined) await this.#commit(first.key, undefined);
  }

  async #commit(name: string, data: Buffer | undefined): Promise<void> {
    const { cache } = this.#reader;
    const key = `/registry/people.example.com/persons/${name}`;
    const present = cache.get(name);
    const op = data === undefined ? 'delete' : present === undefined ? 'create' : 'update';
    const kind = this.#kindNumber;
    const expectation = present === undefined ? {} : { expect: present.revision };
    const operation: Operation = { op, key, kind, ...expectation, ...(data !== undefined && { data }) };
    const { outcomes } = await this.#store.commit([operation]);
    const [outcome] = outcomes;
    if (outcome === undefined || !('revision' in outcome)) throw new Error(JSON.stringify(outcome));
    const { revision } = outcome;
    this.#revision = this.#lastOfKind = revision;
    this.#changes.push({ revision, op, key, kind, data: data ?? Buffer.alloc(0) });
    if (data === undefined) cache.remove(name);
    else cache.put(storedEntry(this.#reader, { key, revision, data }));
  }

  #createKeeper(): SnapshotKeeper {
    return new SnapshotKeeper({
      files: this.#store.snapshots as SnapshotStore,
      store: this.#store,
      clock: systemClock,
      logger: silentLogger,
      uuid: () => crypto.randomUUID(),
      program: 'test',
      isEncrypted: () => false,
      floorOf: () => 0,
      fewestObjects: 1,
    });
  }
}

interface Written {
  readonly name: number;
  readonly city: string | undefined;
  readonly age: number;
  readonly tags: readonly string[];
  readonly length: number;
  readonly isOwned: boolean;
}

type KindIndex = KindCache['indexes'][number];

function partsOf(index: KindIndex): readonly (() => SortedIndex)[] {
  return [() => index.values, () => index.absent, () => index.order(false), () => index.order(true)];
}

/** Returns the entries, and the order of each index. */
function contentOf(cache: KindCache): object {
  const indexes = cache.indexes.map((index) => partsOf(index).map((part) => itemsOf(part())));
  return { entries: [...cache.entries()].map(comparable).sort(byKey), indexes, size: cache.size };
}

function itemsOf(index: SortedIndex): readonly string[] {
  const items: string[] = [];
  index.forEachValue(0, index.size, (value, rank) => {
    items.push(`${value} ${index.entryAt(rank).key}`);
    return true;
  });
  return items;
}

function comparable(entry: Entry): { readonly key: string } {
  const { key, name, namespace, uid, revision, size, values, owners, deletion } = entry;
  const found = { name, namespace, uid, revision, size, values, owners, deletion, text: entry.bytes.toString() };
  return { key, ...found };
}

function byKey(a: { readonly key: string }, b: { readonly key: string }): number {
  return a.key < b.key ? -1 : 1;
}

describe('loadKind', () => {
  let folder: string;
  let files = 0;

  before(() => (folder = mkdtempSync(join(tmpdir(), 'homeostat-load-'))));

  after(() => rmSync(folder, { recursive: true, force: true }));

  const served = (): Served => new Served(join(folder, `${(files += 1)}.db`));

  // A single random sequence may restore too few objects from snapshots, so the short form of this test has a fixed
  // seed.
  for (const [numRuns, tier, seed] of [
    [1, '', { seed: 1 }],
    [20, ' [slow]', {}],
  ] as const) {
    it(`gets the same objects and indexes from the database alone and with a snapshot, after random writes, stops and kills${tier}`, async () => {
      let restored = 0;
      const run = async (drawn: readonly ({ readonly step: string } & Partial<Written>)[]): Promise<void> => {
        const kind = served();
        await kind.open();
        for (const each of drawn) {
          if (each.step === 'write') await kind.write(each as Written);
          else if (each.step === 'remove') await kind.remove();
          else if (each.step === 'query') kind.query();
          else {
            await (each.step === 'stop' ? kind.stop() : kind.close());
            await kind.open();
          }
        }
        await kind.stop();
        await kind.open();
        await kind.close();
        restored += kind.restored;
      };
      await assert(asyncProperty(steps, run), { numRuns, ...seed });
      expect(restored).to.be.above(numRuns);
    });
  }

  it('rejects with an error that says how much memory a start needs, when a snapshot does not fit', async () => {
    const kind = served();
    await kind.open();
    await kind.write({ name: 1, city: 'Bern', age: 1, tags: [], length: 0, isOwned: false });
    await kind.stop();
    const ahead: number[] = [];
    const memory: LoadMemory = {
      ...unlimited,
      excess: (_, bytesAhead) => {
        ahead.push(bytesAhead);
        return full;
      },
      needOf: ({ objects, bytes }) => `${objects} objects of ${bytes > 0 ? 'some' : 'no'} bytes need more`,
    };
    const problem = await kind.open(memory).then(
      () => 'none',
      (error: unknown) => String(error),
    );
    await kind.close();
    expect(problem).to.equal('IndexBuildError: 1 objects of some bytes need more');
    expect(ahead, 'the bytes of the snapshot, before any of them is read').to.have.length(1);
    expect(ahead[0]).to.be.above(100);
  });
});
