import { expect } from 'chai';
import { allSteps } from '../turns/steps.ts';
import type { Steps } from '../turns/steps.ts';
import { compactSlabs } from './compact-slabs.ts';
import { EntryTable } from './entry-table.ts';
import { createEntry, entryWith } from './create-entry.ts';
import type { Entry } from './entry.ts';
import { StoredEntry } from './stored-entry.ts';
import { createPerson } from './person.fixture.ts';
import { Slabs } from './slabs.ts';
import type { Block } from './slabs.ts';

/** Returns a generator of random numbers below a bound. The numbers are the same in each run (xorshift). */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** The entry that holds an object in its current state or in a former one, and the bytes that the entry must have. */
interface State {
  readonly entry: StoredEntry;
  readonly content: Buffer;
}

/** A table in slabs, a Map with the same bytes for comparison, and a history of the latest changes. */
class Pair {
  readonly slabs = new Slabs();
  readonly table = new EntryTable();
  readonly model = new Map<string, State>();
  readonly #random: (below: number) => number;
  readonly #mostStates: number;
  /**
   * The states after and before each change. Their entries are different JavaScript objects from those in the table.
   */
  readonly #states: { readonly after: State; readonly before: State | undefined }[] = [];
  #revision = 0;

  constructor(seed: number, mostStates = 0) {
    this.#random = randomFrom(seed);
    this.#mostStates = mostStates;
  }

  /** Writes an object whose content is `size` times one random byte. Replaces an existing object with this name. */
  put(name: string, size: number): void {
    const content = Buffer.alloc(size, this.#random(256));
    const bytes = this.slabs.allocate(size);
    content.copy(bytes);
    this.#revision += 1;
    const { slabs } = this;
    const entry = createEntry(createPerson({ name }), { bytes, revision: this.#revision, values: [[name]], slabs });
    const row = this.table.find(name);
    const before = this.model.get(name);
    if (row < 0) this.table.add(entry);
    else this.table.replace(row, entry);
    const after = { entry, content };
    this.model.set(name, after);
    this.#note({ after, before });
  }

  delete(name: string): void {
    const row = this.table.find(name);
    if (row < 0) return;
    this.slabs.release(this.table.entry(row).footprint);
    this.table.remove(row);
    this.model.delete(name);
  }

  /**
   * Makes `count` random writes and deletions of 2,000 objects. Most objects are small, and a few are larger than a
   * block.
   */
  writeMany(count: number): void {
    for (let write = 0; write < count; write += 1) this.#write(`n-${this.#random(2000)}`);
  }

  compactSteps(): Steps<void> {
    const { table, slabs } = this;
    return compactSlabs(slabs, {
      table,
      formerStates: () => this.#states.flatMap(({ before }) => (before === undefined ? [] : [before.entry])),
      states: () => this.#states.flatMap(({ after, before }) => [after.entry, ...(before ? [before.entry] : [])]),
    });
  }

  /** The number of bytes of the blocks that entries keep in memory. */
  get held(): number {
    const blocks = new Set(this.blocks());
    return [...blocks].reduce((sum, { size }) => sum + size, 0);
  }

  blocks(): readonly Block[] {
    const former = this.#states.flatMap(({ after, before }) => [after.entry, ...(before ? [before.entry] : [])]);
    return [...this.table.entries(), ...former].map(({ block }) => block);
  }

  get live(): number {
    return [...this.table.entries()].reduce((sum, { footprint }) => sum + footprint, 0);
  }

  expectEqual(): void {
    expect([...this.table.entries()].map(({ key }) => key).sort()).to.deep.equal([...this.model.keys()].sort());
    for (const [name, { content }] of this.model) expectState(this.table.entry(this.table.find(name)), name, content);
    for (const { after, before } of this.#states)
      for (const state of [after, ...(before ? [before] : [])])
        expectState(state.entry, state.entry.name, state.content);
  }

  #note(change: { readonly after: State; readonly before: State | undefined }): void {
    // The table caches some entry objects, and changes their positions when it moves a row. The states in this list get
    // their own entry objects, so that the compaction must change the positions of objects outside the cache, too.
    const [after, before] = [ownOf(change.after), change.before && ownOf(change.before)];
    this.#states.push({ after, before });
    const [old] = this.#states.length > this.#mostStates ? this.#states.splice(0, 1) : [];
    if (old?.before !== undefined) this.slabs.release(old.before.entry.footprint);
  }

  #write(name: string): void {
    if (this.#random(5) === 0) return this.delete(name);
    const kind = this.#random(1000);
    this.put(name, kind === 0 ? 1_500_000 : kind < 10 ? 100_000 : 200 + this.#random(4000));
  }
}

function ownOf({ entry, content }: State): State {
  return { entry: new StoredEntry(entry.block, entry.at), content };
}

function expectState(entry: Entry, name: string, content: Buffer): void {
  if (!entry.bytes.equals(content)) expect.fail(`${name} has other bytes`);
  if (entry.key !== name || String(entry.values[0]) !== name) expect.fail(`${name} has another record`);
}

describe('compactSlabs', () => {
  for (const states of [0, 1500])
    it(`does not alter objects, the states in the last ${states} changes, or bytes read earlier, even with writes between its steps [slow]`, () => {
      const pair = new Pair(1, states);
      for (let round = 0; round < 10; round += 1) {
        pair.writeMany(3000);
        const read = [...pair.table.entries()].map(({ key, bytes }) => ({ bytes, copy: pair.model.get(key)?.content }));
        const steps = pair.compactSteps();
        while (steps.next().done !== true) pair.writeMany(100);
        pair.expectEqual();
        expect(read.every(({ bytes, copy }) => copy?.equals(bytes))).to.equal(true);
      }
    });

  it('frees the blocks of deleted objects, until at most a sixth of the memory is garbage [slow]', () => {
    const pair = new Pair(4);
    for (let at = 0; at < 20_000; at += 1) pair.put(`n-${at}`, 1000);
    for (let at = 0; at < 20_000; at += 1) if (at % 10 !== 0) pair.delete(`n-${at}`);
    expect(pair.slabs.isSparse).to.equal(true);
    for (let times = 0; times < 10 && pair.slabs.isSparse; times += 1) allSteps(pair.compactSteps());
    expect(pair.slabs.isSparse).to.equal(false);
    expect(pair.held).to.be.below((pair.live / 5) * 6 + 2 * 1024 * 1024);
    pair.expectEqual();
  });

  it('copies a state of an object once, even if two changes, or a change and the table of current objects, refer to it', () => {
    const pair = new Pair(6, 4000);
    for (let round = 0; round < 2; round += 1) for (let at = 0; at < 2000; at += 1) pair.put(`n-${at}`, 4000);
    for (let at = 0; at < 2000; at += 1) if (at % 3 !== 0) pair.delete(`n-${at}`);
    const before = pair.held;
    allSteps(pair.compactSteps());
    pair.expectEqual();
    expect(pair.held).to.be.at.most(before + 1024 * 1024);
  });

  it('does not move entries of full blocks that have no garbage', () => {
    const pair = new Pair(5);
    for (let at = 0; at < 3000; at += 1) pair.put(`n-${at}`, 1000);
    const before = pair.blocks();
    allSteps(pair.compactSteps());
    const moved = pair.blocks().filter((block, at) => block !== before[at]);
    expect(pair.slabs.isSparse).to.equal(false);
    // Only entries of the last block may have moved, because it was not full.
    expect(moved.length).to.be.below(1000);
  });
});

describe('an entry', () => {
  it('keeps its bytes, name and index values when entryWith copies it with another revision', () => {
    const bytes = Buffer.from('{}');
    const entry = createEntry(createPerson({ name: 'ann' }), { bytes, revision: 1, values: [['a']] });
    const later = entryWith(entry, { revision: 2 });
    expect(later).to.include({ key: 'ann', name: 'ann', revision: 2, size: 2 });
    expect(later.values).to.deep.equal([['a']]);
    expect(String(later.bytes)).to.equal('{}');
  });
});
