import { seededRandom } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Slot } from './entry.ts';
import { createSlot } from './entry.ts';
import { SortedIndex } from './sorted-index.ts';

function slotNamed(name: string, namespace?: string): Slot {
  const key = namespace === undefined ? name : `${namespace}/${name}`;
  return createSlot({
    key,
    name,
    namespace,
    uid: undefined,
    revision: 1,
    bytes: Buffer.alloc(0),
    size: 0,
    values: [],
    owners: undefined,
    deletion: undefined,
  });
}

function contents(index: SortedIndex): string[] {
  const items: string[] = [];
  index.forEach(0, index.size, (entry, value) => items.push(`${value}:${entry.key}`) > 0);
  return items;
}

function descending(index: SortedIndex, offset = 0): string[] {
  const items: string[] = [];
  index.forEachDescending(offset, (entry, value) => items.push(`${value}:${entry.key}`) > 0);
  return items;
}

function byValueAndName(a: string, b: string): number {
  const [[value = '', name = ''], [otherValue = '', otherName = '']] = [a.split(':'), b.split(':')];
  if (value === otherValue) return name < otherName ? -1 : 1;
  return value < otherValue ? -1 : 1;
}

describe('SortedIndex', () => {
  it('sorts by code point, also where the order of UTF-16 units differs', () => {
    const index = new SortedIndex();
    const values = ['\u{1F600}', '\uFF5E', 'z', '\uE000', 'a', '\u{10000}'];
    values.forEach((value, i) => index.insert(value, slotNamed(`n${i}`)));
    const found: string[] = [];
    index.forEach(0, 6, (_, value) => found.push(value) > 0);
    expect(found).to.deep.equal(['a', 'z', '\uE000', '\uFF5E', '\u{10000}', '\u{1F600}']);
    expect(index.rankOf('\uFFFF')).to.equal(4);
  });

  it('orders equal values by name, then by namespace', () => {
    const index = new SortedIndex();
    for (const [name, namespace] of [
      ['b', 'x'],
      ['a', 'y'],
      ['a', 'x'],
    ] as const)
      index.insert('v', slotNamed(name, namespace));
    expect(contents(index)).to.deep.equal(['v:x/a', 'v:y/a', 'v:x/b']);
  });

  it('sorts descending by value and ascending by name among equal values, from any offset', () => {
    const index = new SortedIndex();
    for (const item of ['a:2', 'a:1', 'b:9', 'c:5', 'c:4', 'c:6'])
      index.insert(item.slice(0, 1), slotNamed(item.slice(2)));
    const all = ['c:4', 'c:5', 'c:6', 'b:9', 'a:1', 'a:2'];
    for (let offset = 0; offset <= 7; offset++) expect(descending(index, offset)).to.deep.equal(all.slice(offset));
  });

  it('returns the current entry of a slot', () => {
    const index = new SortedIndex();
    const slot = slotNamed('a');
    index.insert('v', slot);
    const newer = { ...slot.entry, revision: 2 };
    slot.entry = newer;
    expect(index.entryAt(0)).to.equal(newer);
  });

  it('ignores the removal of an absent entry', () => {
    const index = new SortedIndex();
    const slot = slotNamed('a');
    index.insert('v', slot);
    expect(index.remove('v', slotNamed('b'))).to.equal(false);
    expect(index.remove('w', slot)).to.equal(false);
    expect(index.size).to.equal(1);
  });

  it('removes an entry that waits to be placed, also beside placed ones', () => {
    const index = new SortedIndex();
    const [placed, waiting] = [slotNamed('a'), slotNamed('b')];
    index.insert('v', placed);
    expect(contents(index)).to.deep.equal(['v:a']);
    index.insert('v', waiting);
    expect(index.size).to.equal(2);
    expect(index.remove('v', waiting)).to.equal(true);
    expect(index.remove('v', waiting)).to.equal(false);
    expect(contents(index)).to.deep.equal(['v:a']);
  });

  it('has the same items in the same order, whatever is read and removed between insertions', () => {
    const value = fc.integer({ min: 0, max: 40 }).map((number) => `v${number}`);
    const burst = fc.record({
      values: fc.array(value, { maxLength: 400 }),
      removed: fc.array(fc.nat(), { maxLength: 90 }),
    });
    const check = (bursts: readonly { readonly values: string[]; readonly removed: number[] }[]): void => {
      const index = new SortedIndex();
      const model: { readonly value: string; readonly slot: Slot }[] = [];
      for (const [round, { values, removed }] of bursts.entries()) {
        for (const [at, each] of values.entries()) {
          const item = { value: each, slot: slotNamed(`n${(at * 7919) % 1000}-${round}`) };
          model.push(item);
          index.insert(item.value, item.slot);
        }
        for (const at of removed) {
          const [item] = model.splice(at % Math.max(1, model.length), 1);
          if (item !== undefined) expect(index.remove(item.value, item.slot)).to.equal(true);
        }
        expect(index.size).to.equal(model.length);
        const sorted = model.map((item) => `${item.value}:${item.slot.name}`).sort(byValueAndName);
        if (round % 2 === 0) expect(contents(index)).to.deep.equal(sorted);
      }
    };
    fc.assert(fc.property(fc.array(burst, { minLength: 3, maxLength: 9 }), check), { numRuns: 20 });
  });

  it('keeps order and ranks while it grows to many buckets and shrinks to none', () => {
    const index = new SortedIndex();
    const random = seededRandom(7);
    let model: { value: string; slot: Slot }[] = [];
    const check = (): void => {
      const sorted = model.map(({ value, slot }) => `${value}:${slot.entry.key}`).sort();
      expect(contents(index)).to.deep.equal(sorted);
      for (let i = 0; i < 20; i++) {
        const value = String(Math.floor(random() * 700)).padStart(3, '0');
        expect(index.rankOf(value)).to.equal(sorted.filter((item) => item < `${value}:`).length);
        expect(index.rankAfter(value)).to.equal(sorted.filter((item) => item < `${value};`).length);
        const rank = Math.floor(random() * sorted.length);
        if (sorted.length > 0) expect(`${index.valueAt(rank)}:${index.entryAt(rank).key}`).to.equal(sorted[rank]);
      }
    };
    for (let i = 0; i < 6000; i++) {
      const value = String(Math.floor(random() * 700)).padStart(3, '0');
      const slot = slotNamed(`n${String(i).padStart(5, '0')}`);
      model.push({ value, slot });
      index.insert(value, slot);
      if (i % 1500 === 0) check();
    }
    while (model.length > 0) {
      check();
      const leaving = model.filter(() => random() < 0.4 || model.length < 5);
      for (const { value, slot } of leaving) expect(index.remove(value, slot)).to.equal(true);
      const gone = new Set(leaving);
      model = model.filter((item) => !gone.has(item));
    }
    check();
    index.insert('again', slotNamed('a'));
    expect(contents(index)).to.deep.equal(['again:a']);
  });

  for (const [numRuns, tier] of [
    [60, ''],
    [300, ' [slow]'],
  ] as const)
    it(`inserts sorted items in bulk with the same result as one by one${tier}`, () => {
      const values = fc.array(fc.string({ unit: 'binary', maxLength: 2 }), { maxLength: 40 });
      const check = (list: string[]): void => {
        const one = new SortedIndex();
        const slotOf = new Map(list.map((_, i) => [`n${i}`, slotNamed(`n${i}`)]));
        list.forEach((value, i) => one.insert(value, slotOf.get(`n${i}`) as Slot));
        const sortedValues: string[] = [];
        const slots: Slot[] = [];
        one.forEach(0, one.size, ({ name }, value) => {
          slots.push(slotOf.get(name) as Slot);
          return sortedValues.push(value) > 0;
        });
        const bulk = new SortedIndex();
        bulk.insert('x', slotNamed('before'));
        bulk.load(sortedValues, slots);
        expect(contents(bulk)).to.deep.equal(contents(one));
        expect(list.map((value) => bulk.rankOf(value))).to.deep.equal(list.map((value) => one.rankOf(value)));
      };
      fc.assert(fc.property(values, check), { numRuns });
    });
});
