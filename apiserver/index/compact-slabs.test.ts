import { expect } from 'chai';
import { allSteps } from '../turns/steps.ts';
import { compactSlabs } from './compact-slabs.ts';
import { StoredEntry, Slabs, entryWith, memoryOf } from './entry.ts';
import type { Entry } from './entry.ts';
import { createPerson } from './person.fixture.ts';

/** A random number below a bound, the same in each run (xorshift). */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** Entries in slabs beside a Map of the same bytes. */
class Pair {
  readonly slabs = new Slabs();
  readonly entries = new Map<string, Entry>();
  readonly model = new Map<string, Buffer>();
  readonly #random: (below: number) => number;
  #revision = 0;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
  }

  /** Puts an object with `size` random bytes in place of the one of the same name. */
  put(name: string, size: number): void {
    const content = Buffer.alloc(size, this.#random(256));
    const bytes = this.slabs.allocate(size);
    content.copy(bytes);
    this.delete(name);
    this.#revision += 1;
    this.entries.set(name, new StoredEntry(createPerson({ name }), { bytes, revision: this.#revision, values: [] }));
    this.model.set(name, content);
  }

  delete(name: string): void {
    this.slabs.release(this.entries.get(name)?.size ?? 0);
    this.entries.delete(name);
    this.model.delete(name);
  }

  /** Random writes of 2,000 objects. Most are small, a few larger than a block. */
  writeMany(count: number): void {
    for (let write = 0; write < count; write += 1) this.#write(`n-${this.#random(2000)}`);
  }

  #write(name: string): void {
    if (this.#random(5) === 0) return this.delete(name);
    const kind = this.#random(1000);
    this.put(name, kind === 0 ? 1_500_000 : kind < 10 ? 100_000 : 200 + this.#random(4000));
  }

  /** The blocks that entries keep in memory, in bytes. */
  get held(): number {
    const blocks = new Set([...this.entries.values()].map(memoryOf));
    return [...blocks].reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  get live(): number {
    return [...this.model.values()].reduce((sum, { length }) => sum + length, 0);
  }

  expectEqual(): void {
    expect([...this.entries.keys()].sort()).to.deep.equal([...this.model.keys()].sort());
    for (const [name, entry] of this.entries) {
      if (!entry.bytes.equals(this.model.get(name) ?? Buffer.alloc(0))) expect.fail(`${name} has other bytes`);
    }
  }
}

describe('compactSlabs', () => {
  it('keeps the bytes of all entries, and those read before, while writes continue between its steps [slow]', () => {
    const pair = new Pair(1);
    for (let round = 0; round < 10; round += 1) {
      pair.writeMany(3000);
      const read = [...pair.entries].map(([name, { bytes }]) => ({ bytes, copy: pair.model.get(name) }));
      const steps = compactSlabs(pair.slabs, () => pair.entries.values());
      while (steps.next().done !== true) pair.writeMany(100);
      pair.expectEqual();
      expect(read.every(({ bytes, copy }) => copy?.equals(bytes))).to.equal(true);
    }
  });

  it('frees the blocks of deleted objects, until at most a sixth is garbage [slow]', () => {
    const pair = new Pair(4);
    for (let at = 0; at < 20_000; at += 1) pair.put(`n-${at}`, 1000);
    for (let at = 0; at < 20_000; at += 1) if (at % 10 !== 0) pair.delete(`n-${at}`);
    expect(pair.slabs.isSparse).to.equal(true);
    for (let times = 0; times < 10 && pair.slabs.isSparse; times += 1) {
      allSteps(compactSlabs(pair.slabs, () => pair.entries.values()));
    }
    expect(pair.slabs.isSparse).to.equal(false);
    expect(pair.held).to.be.below((pair.live / 5) * 6 + 2 * 1024 * 1024);
    pair.expectEqual();
  });

  it('leaves full blocks where they are', () => {
    const pair = new Pair(5);
    for (let at = 0; at < 3000; at += 1) pair.put(`n-${at}`, 1000);
    const before = [...pair.entries.values()].map(memoryOf);
    allSteps(compactSlabs(pair.slabs, () => pair.entries.values()));
    const moved = [...pair.entries.values()].filter((entry, at) => memoryOf(entry) !== before[at]);
    expect(pair.slabs.isSparse).to.equal(false);
    // The last block was not full.
    expect(moved.length).to.be.below(1000);
  });
});

describe('an entry', () => {
  it('has the same bytes and fields with another revision', () => {
    const bytes = Buffer.from('{}');
    const entry = new StoredEntry(createPerson({ name: 'ann' }), { bytes, revision: 1, values: [['a']] });
    const later = entryWith(entry, { revision: 2 });
    expect(later).to.include({ key: 'ann', name: 'ann', revision: 2, size: 2, values: entry.values });
    expect(String(later.bytes)).to.equal('{}');
  });
});
