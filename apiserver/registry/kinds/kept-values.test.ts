import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@homeostat/controller-runtime';
import { defaultIndexes, defineModel, silentLogger } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { array, assert, asyncProperty, constant, constantFrom, integer, oneof, record } from 'fast-check';
import type { Arbitrary } from 'fast-check';
import { KindCache } from '../../index/kind-cache.ts';
import type { Entry } from '../../index/entry.ts';
import { createSqliteStore } from '../../store/sqlite/sqlite-store.ts';
import type { KeptStore, Operation, Store } from '../../store/store.ts';
import { encodeObject } from '../object/object-codec.ts';
import { ValueKeeper } from '../kept/value-keeper.ts';
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
  indexes: ['spec.city', { path: 'spec.age', unique: true }, 'spec.tags'],
});

interface Write {
  readonly step: 'write';
  readonly name: number;
  readonly spec: object;
  readonly isOwned: number;
  readonly isDeleted: number;
}

/**
 * A step that saves the values. `killedAt` is the number of changes of the store after which the process is killed;
 * Infinity when the process is not killed.
 */
interface Save {
  readonly step: 'save';
  readonly killedAt: number;
}

interface Other {
  readonly step: 'restart' | 'compact' | 'remove';
}

const spec = record(
  {
    city: constantFrom('Bern', 'Genève', 'ಮೈಸೂರು', ''),
    age: integer({ min: -5, max: 1000 }),
    tags: array(constantFrom('a', 'b', 'ç', '\u{1f600}'), { maxLength: 3 }),
  },
  { requiredKeys: [] },
);
const owner = { apiVersion: 'v1', kind: 'Owner', name: 'o', uid: 'owner-uid', blockOwnerDeletion: true };
const write: Arbitrary<Write> = record({
  step: constant('write'),
  name: integer({ min: 0, max: 12 }),
  spec,
  isOwned: integer({ min: 0, max: 1 }),
  isDeleted: integer({ min: 0, max: 4 }),
});
const save: Arbitrary<Save> = record({
  step: constant('save'),
  killedAt: constantFrom(0, 1, 2, 3, Infinity, Infinity),
});
const other: Arbitrary<Other> = record({ step: constantFrom('restart', 'compact', 'remove') });
const steps = array(
  oneof({ weight: 8, arbitrary: write }, { weight: 3, arbitrary: save }, { weight: 2, arbitrary: other }),
  { minLength: 5, maxLength: 60 },
);

const tenWrites = Array.from({ length: 10 }, (_, name): Write => {
  return { step: 'write', name, spec: {}, isOwned: 0, isDeleted: 1 };
});

class Killed extends Error {}

/** Returns a store that makes `calls.left` changes. Each further change fails, as if the process were killed. */
function killedAt(kept: KeptStore, calls: { left: number }): KeptStore {
  const count = (): void => {
    if (calls.left <= 0) throw new Killed('killed');
    calls.left -= 1;
  };
  return {
    read: (kind, from) => kept.read(kind, from),
    write: async (kind, part) => {
      count();
      await kept.write(kind, part);
    },
    drop: async (kind) => {
      count();
      await kept.drop(kind);
    },
  };
}

/** One kind in a server whose database is a file. */
class Served {
  readonly #path: string;
  #store: Store;
  #reader: KindReader;
  #keeper: ValueKeeper;
  #kindNumber = 0;
  #revision = 0;
  readonly #calls = { left: Infinity };
  /** The number of entries that a restart took from the kept values. */
  used = 0;

  constructor(path: string) {
    this.#path = path;
    this.#store = createSqliteStore({ path });
    this.#reader = emptyReader();
    this.#keeper = this.#createKeeper();
  }

  get size(): number {
    return this.#reader.cache.size;
  }

  /** Opens the database, reads everything, and expects the same result as a read without kept data. */
  async open(): Promise<void> {
    this.#calls.left = Infinity;
    this.#store = createSqliteStore({ path: this.#path });
    this.#revision = (await this.#store.open()).revision;
    this.#kindNumber = await this.#store.numberOf('kind:people.example.com/persons');
    this.#reader = emptyReader();
    this.#keeper = this.#createKeeper();
    const kept = this.#keeper.read(this.#reader.cache, this.#kindNumber);
    const parts = {
      store: this.#store,
      kindNumber: this.#kindNumber,
      memory: { excess: () => undefined },
      onProgress: () => undefined,
    };
    const entries = await readKind(this.#reader, { ...parts, kept });
    expect(entries.map(comparable)).to.deep.equal((await readKind(emptyReader(), parts)).map(comparable));
    this.used += kept?.used ?? 0;
    this.#reader.cache.load(entries);
    await this.#keeper.finish(this.#kindNumber);
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  async write({ name, spec: fields, isOwned, isDeleted }: Write): Promise<void> {
    const metadata = {
      name: `p-${name}`,
      namespace: `n-${name % 2}`,
      uid: `uid-${name}`,
      ...(isOwned === 1 && { ownerReferences: [owner] }),
      ...(isDeleted === 0 && { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['orphan'] }),
    };
    const object = {
      apiVersion: 'people.example.com/v1',
      kind: 'Person',
      metadata,
      spec: fields,
    } as unknown as ApiObject;
    await this.#commit(`${metadata.namespace}/${metadata.name}`, encodeObject(object));
  }

  async remove(): Promise<void> {
    const [first] = this.#reader.cache.entries();
    if (first !== undefined) await this.#commit(first.key, undefined);
  }

  async compact(): Promise<void> {
    await this.#store.compact(this.#revision, 1000);
  }

  /**
   * Saves the values with at most `calls` changes of the store. Returns false when all these changes are used up: then
   * the process counts as killed.
   */
  async save(calls = Infinity): Promise<boolean> {
    this.#calls.left = calls;
    await this.#keeper.save(1);
    return this.#calls.left > 0;
  }

  async #commit(name: string, data: Buffer | undefined): Promise<void> {
    const { cache } = this.#reader;
    const key = `/registry/people.example.com/persons/${name}`;
    const expectation = cache.get(name)?.revision;
    const op = data === undefined ? 'delete' : expectation === undefined ? 'create' : 'update';
    const operation: Operation = {
      op,
      key,
      kind: this.#kindNumber,
      ...(expectation !== undefined && { expect: expectation }),
      ...(data !== undefined && { data }),
    };
    const { outcomes } = await this.#store.commit([operation]);
    const [outcome] = outcomes;
    if (outcome === undefined || !('revision' in outcome)) throw new Error(JSON.stringify(outcome));
    this.#revision = outcome.revision;
    if (data === undefined) cache.remove(name);
    else cache.put(storedEntry(this.#reader, { key, revision: this.#revision, data }));
  }

  #createKeeper(): ValueKeeper {
    const { kept } = this.#store;
    return new ValueKeeper({
      store: kept && killedAt(kept, this.#calls),
      clock: systemClock,
      logger: silentLogger,
      program: 'test',
      served: () => [
        {
          kindNumber: this.#kindNumber,
          cache: this.#reader.cache,
          feed: { revision: this.#revision },
          quiet: async () => undefined,
        },
      ],
      revision: () => this.#revision,
      partEntries: 4,
    });
  }
}

function emptyReader(): KindReader {
  return { cache: new KindCache(model, [...defaultIndexes(), ...model.indexes]), convertStored: (stored) => stored };
}

function comparable(entry: Entry): object {
  const { key, name, namespace, uid, revision, size, values, owners, deletion } = entry;
  return { key, name, namespace, uid, revision, size, values, owners, deletion, text: entry.bytes.toString() };
}

describe('a start that uses kept index values', () => {
  let folder: string;
  let files = 0;

  before(() => (folder = mkdtempSync(join(tmpdir(), 'homeostat-kept-'))));

  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const [numRuns, tier] of [
    [2, ''],
    [40, ' [slow]'],
  ] as const) {
    it(`reads the same objects as a start without kept values, after any writes, restarts and saves, even after a kill in a save${tier}`, async () => {
      let used = 0;
      await assert(
        asyncProperty(steps, async (drawn) => {
          const served = new Served(join(folder, `${(files += 1)}.db`));
          await served.open();
          const restart = async (): Promise<void> => {
            await served.close();
            await served.open();
          };
          try {
            for (const each of drawn) {
              if (each.step === 'write') await served.write(each);
              else if (each.step === 'compact') await served.compact();
              else if (each.step === 'remove') await served.remove();
              else if (each.step === 'save' && (await served.save(each.killedAt))) continue;
              else await restart();
            }
            await served.save();
            await restart();
            used += served.used;
          } finally {
            await served.close();
          }
        }),
        // With random steps alone, the restarts might use no kept values. After `tenWrites`, a restart uses ten.
        { numRuns, examples: [[tenWrites]] },
      );
      expect(used, 'kept values were read').to.be.above(numRuns);
    });
  }
});
