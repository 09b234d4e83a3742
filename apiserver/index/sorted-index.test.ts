import { seededRandom } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import { characters } from '../base/characters.test-support.ts';
import { EntryTable } from './entry-table.ts';
import { createEntry } from './create-entry.ts';
import { SortedIndex } from './sorted-index.ts';
import type { ItemValues } from './sorted-index.ts';

/** An index, and the table of its rows. */
class Indexed {
  readonly table = new EntryTable();
  readonly index: SortedIndex;
  #rows = 0;

  constructor(itemValues: ItemValues) {
    this.index = new SortedIndex(this.table, itemValues);
  }

  /** Returns a new row of an object with one value. The row is not in the index yet. */
  row(value: string, name: string = `n${this.#rows}`, namespace?: string): number {
    this.#rows += 1;
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
    return this.table.add(createEntry({ metadata }, { revision: 1, bytes: Buffer.from('{}'), values: [value] }));
  }

  insert(value: string, name?: string, namespace?: string): number {
    const row = this.row(value, name, namespace);
    this.index.insert(value, row);
    return row;
  }
}

function contents(index: SortedIndex): string[] {
  const items: string[] = [];
  index.forEachValue(0, index.size, (value, rank) => items.push(`${value}:${index.entryAt(rank).key}`) > 0);
  return items;
}

function descending(index: SortedIndex, offset = 0): string[] {
  const items: string[] = [];
  index.forEachDescending(offset, ({ key, values }) => items.push(`${values.join()}:${key}`) > 0);
  return items;
}

function byValueAndName(a: string, b: string): number {
  const [[value = '', name = ''], [otherValue = '', otherName = '']] = [a.split(':'), b.split(':')];
  if (value === otherValue) return name < otherName ? -1 : 1;
  return value < otherValue ? -1 : 1;
}

const forms: readonly (readonly [string, ItemValues])[] = [
  ['with stored values', 'stored'],
  ['with the values of records', { position: 0, isLast: false }],
];

for (const [name, itemValues] of forms)
  describe(`SortedIndex ${name}`, () => {
    it('sorts by code points, also where the order of UTF-16 units differs', () => {
      const { index, ...indexed } = create();
      const values = ['\u{1F600}', '\uFF5E', 'z', '\uE000', '\u{e9}', 'a', '\u{10000}'];
      for (const value of values) indexed.insert(value);
      const found: string[] = [];
      index.forEachValue(0, 7, (value) => found.push(value) > 0);
      expect(found).to.deep.equal(['a', 'z', '\u{e9}', '\uE000', '\uFF5E', '\u{10000}', '\u{1F600}']);
      expect(index.rankOf('\uFFFF')).to.equal(5);
    });

    it('orders equal values by name, then by namespace', () => {
      const indexed = new Indexed(itemValues);
      indexed.insert('v', 'b', 'x');
      indexed.insert('v', 'a', 'y');
      indexed.insert('v', 'a', 'x');
      expect(contents(indexed.index)).to.deep.equal(['v:x/a', 'v:y/a', 'v:x/b']);
    });

    it('sorts descending by value and ascending by name among equal values, from any offset', () => {
      const indexed = new Indexed(itemValues);
      for (const item of ['a:2', 'a:1', 'b:9', 'c:5', 'c:4', 'c:6']) indexed.insert(item.slice(0, 1), item.slice(2));
      const all = ['c:4', 'c:5', 'c:6', 'b:9', 'a:1', 'a:2'];
      for (let offset = 0; offset <= 7; offset += 1)
        expect(descending(indexed.index, offset)).to.deep.equal(all.slice(offset));
    });

    it('entryAt returns the new entry of an object whose entry in the EntryTable was replaced', () => {
      const { index, table, ...indexed } = create();
      const row = indexed.insert('v', 'a');
      const newer = createEntry({ metadata: { name: 'a' } }, { revision: 2, bytes: Buffer.from('{}'), values: ['v'] });
      table.replace(row, newer);
      expect(index.entryAt(0)).to.equal(newer);
    });

    it('ignores the removal of an absent entry', () => {
      const { index, ...indexed } = create();
      const row = indexed.insert('v', 'a');
      expect(index.remove('v', indexed.row('v', 'b'))).to.equal(false);
      expect(index.remove('w', row)).to.equal(false);
      expect(index.size).to.equal(1);
    });

    it('removes an entry that waits to be placed in a bucket, also when equal entries are placed already', () => {
      const { index, ...indexed } = create();
      indexed.insert('v', 'a');
      expect(contents(index)).to.deep.equal(['v:a']);
      const waiting = indexed.insert('v', 'b');
      expect(index.size).to.equal(2);
      expect(index.remove('v', waiting)).to.equal(true);
      expect(index.remove('v', waiting)).to.equal(false);
      expect(contents(index)).to.deep.equal(['v:a']);
    });

    it('has the inserted items in sorted order, whatever is read or removed between insertions', () => {
      const value = fc.integer({ min: 0, max: 40 }).map((number) => `v${number}`);
      const burst = fc.record({
        values: fc.array(value, { maxLength: 400 }),
        removed: fc.array(fc.nat(), { maxLength: 90 }),
      });
      const check = (bursts: readonly { readonly values: string[]; readonly removed: number[] }[]): void => {
        const indexed = new Indexed(itemValues);
        const { index, table } = indexed;
        const model: { readonly value: string; readonly row: number; readonly name: string }[] = [];
        for (const [round, { values, removed }] of bursts.entries()) {
          for (const [at, each] of values.entries()) {
            const itemName = `n${(at * 7919) % 1000}-${round}`;
            model.push({ value: each, name: itemName, row: indexed.insert(each, itemName) });
          }
          for (const at of removed) {
            const [item] = model.splice(at % Math.max(1, model.length), 1);
            if (item === undefined) continue;
            expect(index.remove(item.value, item.row)).to.equal(true);
            table.remove(item.row);
          }
          expect(index.size).to.equal(model.length);
          const sorted = model.map((item) => `${item.value}:${item.name}`).sort(byValueAndName);
          if (round % 2 === 0) expect(contents(index)).to.deep.equal(sorted);
        }
      };
      fc.assert(fc.property(fc.array(burst, { minLength: 3, maxLength: 9 }), check), { numRuns: 20 });
    });

    it('has the right order and ranks while it grows to many buckets and shrinks to none', () => {
      const indexed = new Indexed(itemValues);
      const { index, table } = indexed;
      const random = seededRandom(7);
      let model: { readonly value: string; readonly row: number; readonly key: string }[] = [];
      const check = (): void => {
        const sorted = model.map(({ value, key }) => `${value}:${key}`).sort();
        expect(contents(index)).to.deep.equal(sorted);
        expect(Array.from(index.rows(3, 400), (row) => table.entry(row).key)).to.deep.equal(
          sorted.slice(3, 400).map((item) => item.slice(4)),
        );
        for (let i = 0; i < 20; i += 1) {
          const value = String(Math.floor(random() * 700)).padStart(3, '0');
          expect(index.rankOf(value)).to.equal(sorted.filter((item) => item < `${value}:`).length);
          expect(index.rankAfter(value)).to.equal(sorted.filter((item) => item < `${value};`).length);
          expect(index.rangeOf(value)).to.deep.equal({ from: index.rankOf(value), to: index.rankAfter(value) });
          const rank = Math.floor(random() * sorted.length);
          if (sorted.length > 0) expect(`${index.valueAt(rank)}:${index.entryAt(rank).key}`).to.equal(sorted[rank]);
        }
      };
      for (let i = 0; i < 6000; i += 1) {
        const value = String(Math.floor(random() * 700)).padStart(3, '0');
        const key = `n${String(i).padStart(5, '0')}`;
        model.push({ value, key, row: indexed.insert(value, key) });
        if (i % 1500 === 0) check();
      }
      while (model.length > 0) {
        check();
        const leaving = model.filter(() => random() < 0.4 || model.length < 5);
        for (const { value, row } of leaving) {
          expect(index.remove(value, row)).to.equal(true);
          table.remove(row);
        }
        const gone = new Set(leaving);
        model = model.filter((item) => !gone.has(item));
      }
      check();
      indexed.insert('again', 'a');
      expect(contents(index)).to.deep.equal(['again:a']);
    });

    for (const [numRuns, tier] of [
      [60, ''],
      [300, ' [slow]'],
    ] as const)
      it(`has the same items after a load of sorted items as after single insertions${tier}`, () => {
        const values = fc.array(fc.string({ unit: characters, maxLength: 2 }), { maxLength: 40 });
        const check = (list: string[]): void => {
          const { index: one, table, ...indexed } = create();
          for (const value of list) indexed.insert(value);
          const sorted: string[] = [];
          one.forEachValue(0, one.size, (value) => sorted.push(value) > 0);
          const bulk = new SortedIndex(table, itemValues);
          bulk.insert('x', indexed.row('x', 'before'));
          bulk.load(one.rows(), sorted);
          expect(contents(bulk)).to.deep.equal(contents(one));
          expect(list.map((value) => bulk.rankOf(value))).to.deep.equal(list.map((value) => one.rankOf(value)));
        };
        fc.assert(fc.property(values, check), { numRuns });
      });

    function create(): Pick<Indexed, 'index' | 'table' | 'row' | 'insert'> {
      const indexed = new Indexed(itemValues);
      return {
        index: indexed.index,
        table: indexed.table,
        row: (...row) => indexed.row(...row),
        insert: (...item) => indexed.insert(...item),
      };
    }
  });
